/** Compiles schemas to functions at build time, so that the mock server compiles nothing when it starts. */
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { type Json, recordIn } from "../../packages/cli/src/drift/document.ts";

const toBanner = (source: string) =>
  `/** Generated from ${source} by \`npm run generate\`. Do not edit. */\n`;

const requestBodies = ["IssueCardRequest", "ConsentChange"];

/** The validators of the request bodies, each exported under the name of its schema. @throws {Error} for a schema that cannot be compiled, also of a response. */
export function requestValidators(document: Json): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: true },
    allErrors: true,
    strict: false, // the document has x- properties
    validateFormats: false,
    logger: false,
  });
  ajv.addSchema({ $id: "document", components: document["components"] });
  for (const name of requestBodies) {
    ajv.addSchema({ $id: name, $ref: `document#/components/schemas/${name}` });
  }
  const code = standaloneCode(ajv, requestBodies);
  for (const name of Object.keys(recordIn(recordIn(document, "components"), "schemas"))) {
    ajv.compile({ $ref: `document#/components/schemas/${name}` });
  }
  return toBanner("openapi.yaml") + code;
}

/** The schemas of control.yaml that are request bodies of the control API. */
const controlBodies = [
  "ApiKeyInput",
  "TemplateInput",
  "PointsInput",
  "CorrectionInput",
  "Expiry",
  "StatusInput",
  "EndpointInput",
  "EndpointChange",
  "ClockSetting",
  "AdvanceInput",
  "FaultInput",
  "WaitCondition",
  "WaitInput",
];

/** The document of the control API, with the enums that derive from openapi.yaml. */
export function completeControlDocument(control: Json, document: Json): Json {
  const values: Readonly<Record<string, readonly string[]>> = {
    webhooks: Object.keys(recordIn(document, "webhooks")),
    operations: Object.values(recordIn(document, "paths"))
      .flatMap((path) => Object.values(path as Json))
      .flatMap((operation) => (operation as { operationId?: string }).operationId ?? []),
  };
  const complete = structuredClone(control);
  for (const schema of Object.values(recordIn(recordIn(complete, "components"), "schemas")) as Record<
    string,
    unknown
  >[]) {
    const source = schema["x-values"];
    if (typeof source !== "string") continue;
    schema["enum"] = values[source];
    delete schema["x-values"];
  }
  return complete;
}

/** The validators of the control API. Their errors contain the schema and the value, so that a message can name the rule. */
export function controlValidators(control: Json): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: true },
    allErrors: true,
    discriminator: true,
    verbose: true,
    messages: false, // written by the mock server
    strict: false, // the document has x- properties
    strictNumbers: true,
    validateFormats: false,
    logger: false,
  });
  ajv.addSchema({ $id: "control", components: control["components"] });
  for (const name of controlBodies) {
    ajv.addSchema({ $id: name, $ref: `control#/components/schemas/${name}` });
  }
  return toBanner("control.yaml") + standaloneCode(ajv, controlBodies);
}

function standaloneCode(ajv: Ajv2020, names: readonly string[]): string {
  // The only helper of ajv that the schemas need, for `minLength`.
  const code = standalone(ajv, Object.fromEntries(names.map((name) => [name, name]))).replaceAll(
    'require("ajv/dist/runtime/ucs2length").default',
    "((text) => [...text].length)",
  );
  if (/\brequire\(/.test(code))
    throw new Error("The compiled validators import ajv; they must not have imports.");
  return code;
}
