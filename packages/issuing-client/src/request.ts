/** Requests of the operations: method, path, headers and body, and validation of the ids in a path. */
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import type { ExpectedBody } from "./call.ts";
import { configurationError, isPromise } from "./errors.ts";
import type { TransportRequest } from "./transport.ts";

/**
 * Returns which bodies of a success are usable. The specification does not show the response to setConsent, so every body of it is usable
 * ([spec 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)).
 */
export function getExpectedBody(operation: OperationId): ExpectedBody {
  const { successStatus }: { successStatus: number } = operations[operation];
  return successStatus === 204 || operation === "setConsent" ? "any" : "json";
}

export interface OperationRequest {
  operation: OperationId;
  /** The id in the path. */
  id: string;
  query?: string;
  /** JSON. */
  body?: string;
  idempotencyKey?: string;
}

/** The path with its variable, such as `/api/v1/passes/{id}`. */
export const getRoute = (operation: OperationId) => `/api/v1${operations[operation].path}`; // spec 9

export function toPath({ operation, id, query = "" }: OperationRequest): string {
  const route = getRoute(operation);
  return `${route.slice(0, route.indexOf("{"))}${encodeURIComponent(id)}${route.slice(route.indexOf("}") + 1)}${query}`;
}

/** @param headers the headers of the caller, to which those of the request are added. */
export function toTransportRequest(
  { operation, body, idempotencyKey }: OperationRequest,
  headers: Record<string, string>,
): TransportRequest {
  const { method } = operations[operation];
  headers["accept"] = "application/json, application/problem+json";
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  if (body === undefined) return { method, headers };
  headers["content-type"] = "application/json";
  return { method, headers, body };
}

/** @throws {IssuingError} `configuration` for a value that cannot be a path segment. */
export function parseId(name: string, id: unknown): string {
  if (isPromise(id)) throw configurationError(`The ${name} is a promise: await it.`);
  if (typeof id !== "string" || id.trim() === "")
    throw configurationError(`The ${name} is missing or empty.`);
  // Dot segments would change the path; all other characters are encoded.
  if (id === "." || id === "..") throw configurationError(`The ${name} is "${id}", which is not an id.`);
  if (!id.isWellFormed()) throw configurationError(`The ${name} is not well-formed text.`);
  return id;
}

/** Returns the value as JSON, so that later changes by the caller have no effect. */
export function toJson(name: string, value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    throw configurationError(
      `${name} cannot be serialized as JSON: it has a bigint or a circular reference.`,
    );
  }
}
