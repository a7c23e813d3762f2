/** Compiles schemas to plain functions, so that nothing is compiled when the mock server starts. */
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";

const banner = "/** Generated from openapi.yaml by `npm run generate`. Do not edit. */\n";

/** The request bodies of the document, by the name each validator is exported under. */
const requestBodies = { IssueCardRequest: "IssueCardRequest", ConsentChange: "ConsentChange" };

interface Document {
  components: { schemas: Record<string, object> };
}

export const requestValidators = (document: Document): string => compiled(document, requestBodies);

/** What the service answers and sends, by the name of the schema; one object, because it is looked up by that name. */
export function contractValidators(document: Document): string {
  const names = Object.keys(document.components.schemas).filter((name) =>
    /^(Card|OperationList|ConsentState|Problem|.*Event)$/.test(name),
  );
  const code = compiled(document, Object.fromEntries(names.map((name) => [name, name])));
  return `${code}\nexport const contract = { ${names.join(", ")} };\n`;
}

function compiled(document: Document, exported: Readonly<Record<string, string>>): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: true },
    allErrors: true,
    strict: false, // the document carries x- members
    validateFormats: false,
  });
  ajv.addSchema({ $id: "document", components: document.components });
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
