/**
 * Compiles schemas to functions, so that the mock server compiles nothing when it starts. Unlike
 * `dist`, the generated files are committed, because `npm ci && npm run demo` in a fresh clone runs
 * the mock server from its sources, without a build.
 */
import { Ajv2020, type Options } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { type Json, recordIn } from "./document.ts";
import { toBanner } from "./schema-types.ts";

/** The validators of the request bodies: that of the schema `X` is exported as `isX`. */
export const requestValidators = (document: Json): string =>
  compile("openapi.yaml", document, ["IssueCardRequest", "ConsentChange"], {});

/**
 * The validators of the control API. Their errors contain the schema, so that a message can name
 * the properties that it has.
 */
export const controlValidators = (control: Json): string =>
  compile("control.yaml", control, controlBodies, {
    discriminator: true,
    verbose: true,
    strictNumbers: true,
  });

/** The schemas of control.yaml that are request bodies of the control API. */
const controlBodies = [
  "ApiKeyInput",
  "TemplateInput",
  "PointsInput",
  "CorrectionInput",
  "EndpointInput",
  "EndpointChange",
  "ClockSetting",
  "AdvanceInput",
  "FaultInput",
  "WaitCondition",
  "WaitInput",
];

function compile(file: string, document: Json, names: readonly string[], options: Options): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: true },
    allErrors: true,
    strict: false, // the documents have x- members
    validateFormats: false,
    logger: false,
    ...options,
  });
  ajv.addSchema({ $id: "document", components: document["components"] });
  for (const name of names)
    ajv.addSchema({ $id: name, $ref: `document#/components/schemas/${name}` });
  const code = standalone(ajv, Object.fromEntries(names.map((name) => [`is${name}`, name])));
  if (/\brequire\(/.test(code))
    throw new Error(
      "The compiled validators import a helper of ajv, as for minLength; they must not.",
    );
  return toBanner(file) + code;
}

/** The document of the control API, with the enums that derive from openapi.yaml. */
export function completeControl(control: Json, document: Json): Json {
  const values: Record<string, unknown> = {
    webhooks: Object.keys(recordIn(document, "webhooks")),
    operations: Object.values(recordIn(document, "paths"))
      .flatMap((path) => Object.values(path as Json))
      .map((operation) => (operation as Json)["operationId"]),
  };
  const complete = structuredClone(control);
  for (const schema of schemasIn(complete)) {
    const source = schema["x-values"];
    if (typeof source !== "string") continue;
    schema["enum"] = values[source];
    delete schema["x-values"];
  }
  return complete;
}

/**
 * Removes the keywords next to `oneOf` that only a validator needs to select the branch: a type is
 * the union of its branches.
 */
export function withPlainUnions(control: Json): Json {
  const plain = structuredClone(control);
  for (const schema of schemasIn(plain)) {
    if (schema["oneOf"] !== undefined)
      for (const name of ["type", "required", "properties", "discriminator"]) delete schema[name];
  }
  return plain;
}

const schemasIn = (document: Json) =>
  Object.values(recordIn(recordIn(document, "components"), "schemas")) as Record<string, unknown>[];
