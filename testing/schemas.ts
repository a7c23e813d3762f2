/** Responses and events of a service, validated against the document. */

import type { MockService } from "@loyalty-cards/mock-server";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";

const ajv = new Ajv2020({ strict: false, allErrors: true }); // the document has x- members
addFormats.default(ajv);
ajv.addSchema({ $id: "document", ...openapi });

interface Described {
  responses: Record<string, { content?: Record<string, { schema: { $ref: string } }> } | undefined>;
}

/**
 * Throws unless the document describes this status for the operation, and the response has its media
 * type and its shape. Ignores paths that the document does not have.
 */
export async function expectDescribedResponse(path: string, method: string, response: Response) {
  const { status, headers } = response;
  const template = Object.keys(openapi.paths).find((known) =>
    new RegExp(`^/api/v1${known.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  const operation = (openapi.paths as unknown as Record<string, Record<string, Described>>)[
    template ?? ""
  ]?.[method.toLowerCase()];
  if (operation === undefined) return;
  const described = operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`];
  if (described === undefined) throw new Error(`${method} ${template} must not respond ${status}`);
  const isProblem = status >= 400;
  if (!isProblem && described.content === undefined)
    return expect(await response.clone().text()).toBe("");
  expect(headers.get("content-type")).toBe(
    isProblem ? "application/problem+json" : "application/json",
  );
  const body: unknown = await response.clone().json();
  if (isProblem) {
    validate("/components/schemas/Problem", body);
    expect(body).toMatchObject({ status });
  } else {
    validate(described.content?.["application/json"]?.schema.$ref.slice(1) ?? "", body);
  }
}

/** Throws unless the document describes an event of this type and shape. */
export function expectDescribedEvent(type: string, event: unknown): void {
  const webhooks = openapi.webhooks as unknown as Record<
    string,
    { post: { requestBody: { content: { "application/json": { schema: { $ref: string } } } } } }
  >;
  validate(
    webhooks[type]?.post.requestBody.content["application/json"].schema.$ref.slice(1) ?? type,
    event,
  );
}

/** Validates the events of a service, also those that no endpoint received. */
export function expectDescribedEvents(service: MockService): void {
  const { recentEvents } = service.snapshot().state as { recentEvents: { type: string }[] };
  for (const event of recentEvents) expectDescribedEvent(event.type, event);
}

function validate(pointer: string, value: unknown): void {
  const check = ajv.getSchema(`document#${pointer}`);
  if (check === undefined)
    throw new Error(`the document has no ${pointer}. Did you run npm run generate?`);
  if (check(value) !== true)
    throw new Error(`not as ${pointer} describes: ${ajv.errorsText(check.errors)}`);
}
