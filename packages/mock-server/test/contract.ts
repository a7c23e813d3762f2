/** Holds every answer and every event against the OpenAPI document, while the tests look at something else. */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: "document", ...openapi });

interface Described {
  responses: Record<string, unknown>;
}

function validate(pointer: string, value: unknown): void {
  const check = ajv.getSchema(`document#${pointer}`);
  if (check === undefined) throw new Error(`the document has no ${pointer}`);
  if (check(value) !== true) throw new Error(`not as ${pointer} says: ${ajv.errorsText(check.errors)}`);
}

/** Fails unless the document describes this status for the operation, with this media type and this shape. */
export async function expectDescribed(path: string, method: string, response: Response): Promise<void> {
  const template = Object.keys(openapi.paths).find((known) =>
    new RegExp(`^/api/v1${known.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  const operation = (openapi.paths as Record<string, Record<string, Described>>)[template ?? ""]?.[
    method.toLowerCase()
  ];
  if (operation === undefined) return;
  const range = `${String(response.status)[0]}XX`;
  const described = (operation.responses[String(response.status)] ?? operation.responses[range]) as
    | { $ref?: string }
    | undefined;
  if (described === undefined) throw new Error(`${method} ${template} may not answer ${response.status}`);
  const isProblem = response.status >= 400;
  expect(response.headers.get("content-type")).toBe(
    isProblem ? "application/problem+json" : "application/json",
  );
  const body: unknown = await response.clone().json();
  if (isProblem) {
    validate("/components/schemas/Problem", body);
    expect((body as { status: number }).status).toBe(response.status);
  } else {
    const schema = (described as { content: Record<string, { schema: { $ref: string } }> }).content[
      "application/json"
    ];
    validate((schema?.schema.$ref ?? "").slice(1), body);
  }
}

export function expectEvent(type: string, body: unknown): void {
  const webhooks = openapi.webhooks as unknown as Record<
    string,
    { post: { requestBody: { content: { "application/json": { schema: { $ref: string } } } } } }
  >;
  validate(webhooks[type]?.post.requestBody.content["application/json"].schema.$ref.slice(1) ?? type, body);
}
