/** The requests of the five operations, as the contract spells them. */
import type { paths } from "@loyalty-cards/openapi";
import type { OperationName } from "./client-event.ts";
import { configurationError } from "./errors.ts";
import type { OutgoingRequest } from "./transport.ts";

type Method = "GET" | "POST" | "PUT";

interface Endpoint {
  method: Method;
  /** Below the base URL, version included (spec 9). `{…}` is the variable segment. */
  route: string;
  before: string;
  after: string;
}

function endpoint(method: Method, path: keyof paths): Endpoint {
  const route = `/api/v1${path}`;
  const [before = "", after = ""] = route.split(/{.*}/);
  return { method, route, before, after };
}

const operations = {
  issueCard: endpoint("POST", "/templates/{templateId}/passes"),
  getCard: endpoint("GET", "/passes/{id}"),
  listOperations: endpoint("GET", "/passes/{id}/operations"),
  getConsent: endpoint("GET", "/passes/{id}/consent"),
  setConsent: endpoint("PUT", "/passes/{id}/consent"),
} satisfies Record<Exclude<OperationName, "api">, Endpoint>;

export interface OperationRequest {
  operation: keyof typeof operations;
  /** What stands in the variable segment. */
  id: string;
  query?: string;
  /** JSON. */
  body?: string;
  idempotencyKey?: string;
}

export const routeOf = (operation: OperationRequest["operation"]) => operations[operation].route;

export function pathOf({ operation, id, query = "" }: OperationRequest): string {
  const { before, after } = operations[operation];
  return `${before}${encodeURIComponent(id)}${after}${query}`;
}

/** @param headers the caller's, checked; ours are written over them. */
export function outgoing(request: OperationRequest, headers: Record<string, string>): OutgoingRequest {
  const { method } = operations[request.operation];
  const { body, idempotencyKey } = request;
  headers["accept"] = "application/json, application/problem+json";
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  if (body === undefined) return { method, headers };
  headers["content-type"] = "application/json";
  return { method, headers, body };
}

/** What belongs to the connection or describes the body is not the caller's to say. */
const reserved =
  /^(connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

/** A new record of the caller's headers, in lower case. @throws {IssuingError} `configuration`; the runtime's own error quotes the value. */
export function checkedHeaders(headers: Record<string, string> | undefined): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [given, value] of Object.entries(headers ?? {})) {
    const name = given.toLowerCase();
    if (reserved.test(name)) throw configurationError(`headers may not have ${JSON.stringify(given)}.`);
    try {
      new Headers([[name, value]]);
    } catch {
      throw configurationError(`headers has an entry (${JSON.stringify(given)}) that no request can carry.`);
    }
    checked[name] = value;
  }
  return checked;
}

/** JSON as it is now: what the caller changes later does not change the request. */
export function jsonOf(name: string, value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw configurationError(`${name} cannot be written as JSON: it has a bigint, or contains itself.`);
  }
}
