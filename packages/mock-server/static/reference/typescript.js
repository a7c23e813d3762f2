// The TypeScript of the reference: the call of issuing-client that sends the request in a form.

const userId = '{ userId: "1" }, // your user\'s id';

/**
 * The method has the name of the operation. Its arguments are what is in the path, then the query
 * or the body; that of `Idempotency-Key` is the user's id, from which the key is derived.
 * @param {{ operationId: string, parameters: { in: string, name: string, value?: unknown }[],
 *   body: string | null | undefined, result: string }} request `result` names the variable.
 */
export function toCall({ operationId, parameters, body, result }) {
  const find = (place) =>
    parameters.filter(({ in: each, value }) => each === place && value != null);
  const query = find("query").map(({ name, value }) => `"${name}": ${value}`);
  const values = [
    ...find("path").map(({ value }) => JSON.stringify(value)),
    ...(query.length > 0 ? [toLiteral(`{${query}}`)] : []),
    ...(body ? [toLiteral(body)] : []),
  ];
  const lines = values.map((value) => `${value},`);
  if (parameters.some(({ name }) => name === "Idempotency-Key")) lines.push(userId);
  const call = `const ${result} = await loyalty.${operationId}`;
  const short = `${call}(${values.join(", ")});`;
  if (lines.length === values.length && /^.{0,64}$/.test(short)) return short;
  return `${call}(\n${lines.join("\n").replaceAll(/^/gm, "  ")}\n);`;
}

/** JSON as a literal of TypeScript. What is no JSON, because it is being edited, stays as it is. */
function toLiteral(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
      .replaceAll(/^( *)"([A-Za-z_]\w*)":/gm, "$1$2:")
      .replaceAll(/\{\n +([^{}\n]+)\n *\}/g, "{ $1 }");
  } catch {
    return json;
  }
}
