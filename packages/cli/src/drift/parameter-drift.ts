/** Compares parameters: those that the client sends to an operation, and the headers that a receiver reads from a delivery. */
import { adoptedSchema } from "./adoption.ts";
import { getProperty, type Json, listIn, recordIn } from "./document.ts";
import type { Direction, Place } from "./drift-rules.ts";
import { jsonSchemaIn } from "./media-drift.ts";
import { type Comparison, requiredRule, type SchemaComparison } from "./schema-drift.ts";

export interface ServedParameters {
  /** The parameters of the path and of the operation, resolved. */
  parameters: readonly Json[];
  /** The names of the path parameters, in order. Default: none. */
  pathParameters?: readonly string[];
}

/** @returns the parameters of the contract, changed only where the service differs. */
export function compareParameters(
  own: Json,
  { parameters, pathParameters = [] }: ServedParameters,
  { operation, direction }: { operation: string; direction: Direction },
  { contract, report }: Comparison,
  schemas: SchemaComparison,
): Json[] {
  const ownParameters = listIn(own, "parameters") as Json[];
  const at = (name: string): Place => ({ operation, direction, path: `${operation} › ${name}` });
  const rest = new Set(parameters.filter((parameter) => !isIgnored(parameter)));
  let pathIndex =
    pathParameters.length - ownParameters.filter((node) => contract.resolved(node)["in"] === "path").length;

  const kept = ownParameters.flatMap((node) => {
    const parameter = contract.resolved(node);
    const name = String(parameter["name"]);
    const isInPath = parameter["in"] === "path";
    const servedName = isInPath ? pathParameters[pathIndex++] : name;
    const same = [...rest].filter((one) => isSameParameter(one, parameter["in"], servedName));
    for (const one of same) rest.delete(one);
    // The last one, because an operation's parameter replaces the parameter of its path.
    const served = same.at(-1);
    if (served === undefined) {
      if (isInPath) return [node];
      report("parameter-removed", at(name), `the ${parameter["in"]} parameter is removed`);
      return [];
    }
    const compared = schemas.component("parameters", node, at(name), (component) => {
      const schema = schemas.schema(recordIn(component, "schema"), schemaIn(served), at(name));
      const next: Json = { ...component, schema };
      const [wasRequired, isRequired] = [component["required"] === true, served["required"] === true];
      if (isInPath || wasRequired === isRequired) return next;
      if (isRequired)
        report(requiredRule(name, "parameter-required"), at(name), "the parameter is now required");
      else report("parameter-optional", at(name), "the parameter is now optional");
      return { ...next, required: isRequired };
    });
    return [compared];
  });
  // Path parameters of the prefix belong to the base URL of the service.
  const added = [...rest]
    .filter((parameter) => parameter["in"] !== "path")
    .map((parameter) => {
      const [name, isRequired] = [String(parameter["name"]), parameter["required"] === true];
      report(
        isRequired ? "parameter-required" : "parameter-added",
        at(name),
        `a${isRequired ? " required" : "n optional"} ${parameter["in"]} parameter is added`,
      );
      const { description } = parameter;
      return {
        name,
        in: parameter["in"],
        required: isRequired,
        ...(description === undefined ? {} : { description }),
        schema: adoptedSchema(schemaIn(parameter)),
      };
    });
  return [...kept, ...added];
}

const schemaIn = (parameter: Json) => getProperty(parameter, "schema") ?? jsonSchemaIn(parameter);

/** OpenAPI ignores header parameters with these names, because other keywords describe them. */
const isIgnored = (parameter: Json) =>
  parameter["in"] === "header" && /^(accept|content-type|authorization)$/i.test(String(parameter["name"]));

const isSameParameter = (parameter: Json, place: unknown, name: unknown) =>
  parameter["in"] === place &&
  (place === "header"
    ? String(parameter["name"]).toLowerCase() === String(name).toLowerCase()
    : parameter["name"] === name);
