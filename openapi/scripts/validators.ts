/** Compiles schemas to plain functions, so that nothing is compiled when the mock server starts. */
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { type Json, memberOf, recordIn } from "./served-document.ts";

const banner = "/** Generated from openapi.yaml by `npm run generate`. Do not edit. */\n";

/** The request bodies of the document, by the name each validator is exported under. */
const requestBodies = { IssueCardRequest: "IssueCardRequest", ConsentChange: "ConsentChange" };

export const requestValidators = (document: Json): string => compiled(document, requestBodies);

/** What the service answers and sends, by the name of the schema; one object, because it is looked up by that name. */
export function contractValidators(document: Json): string {
  const components = recordIn(document, "components");
  const responses = Object.values(recordIn(document, "paths")).flatMap((item) =>
    Object.values(item as Json).map((operation) => memberOf(operation, "responses")),
  );
  const referenced = new Set(
    [responses, document["webhooks"], components["responses"]].flatMap((part) => bodySchemasIn(part)),
  );
  const names = Object.keys(recordIn(components, "schemas")).filter((name) => referenced.has(name));
  const code = compiled(document, Object.fromEntries(names.map((name) => [name, name])));
  return `${code}\nexport const contract = { ${names.join(", ")} };\n`;
}

/** The names of the schemas that stand for a whole body. */
function bodySchemasIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([key, member]) => {
    const reference = key === "schema" ? memberOf(member, "$ref") : undefined;
    return typeof reference === "string" ? [reference.split("/").at(-1) ?? ""] : bodySchemasIn(member);
  });
}

function compiled(document: Json, exported: Readonly<Record<string, string>>): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: true },
    allErrors: true,
    strict: false, // the document carries x- members
    validateFormats: false,
    logger: false,
  });
  ajv.addSchema({ $id: "document", components: document["components"] });
  for (const name of Object.values(exported)) {
    ajv.addSchema({ $id: name, $ref: `document#/components/schemas/${name}` });
  }
  // The one helper that these schemas need of ajv, for `minLength`.
  const code = standalone(ajv, { ...exported }).replaceAll(
    'require("ajv/dist/runtime/ucs2length").default',
    "((text) => [...text].length)",
  );
  if (/\brequire\(/.test(code)) throw new Error("The compiled validators import ajv; they must stand alone.");
  return banner + code;
}
