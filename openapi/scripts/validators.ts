/** Compiles the request schemas to plain functions, so that nothing is compiled when the mock server starts. */
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";

const banner = "/** Generated from openapi.yaml by `npm run generate`. Do not edit. */\n";

/** The request bodies of the document, by the name each validator is exported under. */
const requestBodies = { IssueCardRequest: "IssueCardRequest", ConsentChange: "ConsentChange" };

export function requestValidators(document: { components: { schemas: object } }): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: true },
    allErrors: true,
    strict: false, // the document carries x- members
    validateFormats: false,
  });
  ajv.addSchema({ $id: "document", components: document.components });
  for (const name of Object.values(requestBodies)) {
    ajv.addSchema({ $id: name, $ref: `document#/components/schemas/${name}` });
  }
  const code = standalone(ajv, requestBodies);
  if (/\brequire\(/.test(code)) throw new Error("The compiled validators import ajv; they must stand alone.");
  return banner + code;
}
