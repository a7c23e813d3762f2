// The code of the reference: JSON, and what sends a form: the call of issuing-client, and curl.

/** JSON in which an object of one value has one line. */
export const toText = (value) =>
  JSON.stringify(value, null, 2).replaceAll(/\{\n +([^{}\n]+)\n *\}/g, "{ $1 }");

/**
 * The method has the name of the operation. Its arguments are what is in the path, then the query
 * or the body, then the idempotency key, which a shop lets the client derive from the user's id.
 * @param {{ operationId: string, parameters: { in: string, name: string, value?: unknown }[],
 *   body: string | null | undefined, result: string }} request `result` names the variable.
 */
export function toCall({ operationId, parameters, body, result }) {
  if (body && parse(body) === undefined) return "// The request body is not valid JSON.";
  const find = (place) =>
    parameters.filter(({ in: each, value }) => each === place && value != null);
  const query = find("query").map(({ name, value }) => [name, parse(value) ?? value]);
  const values = [
    ...parameters
      .filter(({ in: place }) => place === "path")
      .map(({ value }) => JSON.stringify(value ?? "")),
    ...(query.length > 0 ? [toLiteral(Object.fromEntries(query))] : []),
    ...(body ? [toLiteral(parse(body))] : []),
  ];
  const lines = values.map((value) => `${value},`);
  for (const { value } of find("header"))
    lines.push(`{ idempotencyKey: ${JSON.stringify(value)} }, // in a shop: { userId: user.id }`);
  const call = `const ${result} = await loyalty.${operationId}`;
  const short = `${call}(${values.join(", ")});`;
  if (lines.length === values.length && /^.{0,64}$/.test(short)) return short;
  return `${call}(\n${lines.join("\n").replaceAll(/^/gm, "  ")}\n);`;
}

/** @param request a key is empty when the service has none. */
export function toCurl({ method, url, parameters, body, apiKey }) {
  const find = (place) => parameters.filter(({ in: each, value }) => each === place && value);
  const query = new URLSearchParams(find("query").map(({ name, value }) => [name, value]));
  let address = url;
  for (const { name, value } of find("path"))
    address = address.replace(`{${name}}`, encodeURIComponent(value));
  const headers = find("header").map(({ name, value }) => `-H ${toQuoted(`${name}: ${value}`)}`);
  if (body) headers.push("-H 'Content-Type: application/json'", `-d ${toQuoted(body)}`);
  return [
    `curl -X ${method.toUpperCase()}`,
    toQuoted(query.size > 0 ? `${address}?${query}` : address),
    `-H "Authorization: Bearer ${apiKey || "$LOYALTY_API_KEY"}"`,
    ...headers,
  ].join(" \\\n  ");
}

const toQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const toLiteral = (value) => toText(value).replaceAll(/"([A-Za-z_]\w*)":/g, "$1:");

/** Returns undefined for what is not JSON, because it is being edited. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
