/** A route of the control API: selects the sandbox, validates the body, converts errors to problem details, pages lists. */
import type { ControlValidator } from "@loyalty-cards/openapi/control-validators";
import { NotFoundError } from "../domain/context.ts";
import { InputError, validateInput } from "../domain/input.ts";
import { Problem } from "../domain/problem.ts";
import { readJson, type ServiceRequest } from "../http/request.ts";
import { emptyResponse, jsonResponse, type ServiceResponse } from "../http/response.ts";
import type { Route, RouteCall } from "../http/router.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";

export interface ControlCall<Body = unknown> {
  sandbox: Sandbox;
  /** The variable segments of the path. */
  params: readonly string[];
  query: URLSearchParams;
  body: Body;
  request: ServiceRequest;
}

export interface ControlRoute<Body = unknown> {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** Validates the body. Without it the body is not read. */
  body?: ControlValidator<Body>;
  run(call: ControlCall<Body>): ServiceResponse | Problem | Promise<ServiceResponse | Problem>;
}

/** A route with a body: `run` receives it with the type of its schema. */
export const withBody = <Body>(route: ControlRoute<Body> & { body: ControlValidator<Body> }) =>
  route as ControlRoute;

export function toRoute(sandboxes: Sandboxes, { method, path, body: validator, run }: ControlRoute): Route {
  return {
    method,
    path,
    async handle({ request, url, params }: RouteCall) {
      const query = url.searchParams;
      try {
        const sandbox = sandboxes.get(query.get("sandbox") ?? sandboxes.first.id);
        if (validator === undefined) return await run({ sandbox, params, query, body: undefined, request });
        const json = await readJson(request);
        if (json instanceof Problem) return json;
        const body = validateInput(validator, json.value);
        return await run({ sandbox, params, query, body, request });
      } catch (error) {
        return toProblem(error);
      }
    },
  };
}

/** Converts the errors that the service object throws for the same calls. */
function toProblem(error: unknown): Problem {
  if (error instanceof InputError) return Problem.invalid(error.errors);
  if (error instanceof NotFoundError) return new Problem(404, error.message);
  if (error instanceof RangeError) return new Problem(409, error.message);
  if (error instanceof TypeError) return new Problem(422, error.message);
  throw error;
}

export const ok = (value: unknown) => jsonResponse(200, value);
export const created = (value: unknown) => jsonResponse(201, value);
export const noContent = emptyResponse(204);

const defaultLimit = 20;
const maxLimit = 100;

/** Responds with one page of a list. @param items newest first. @param view converts an item; called for the items of the page only. */
export function paginate<Item>(
  items: readonly Item[],
  query: URLSearchParams,
  view: (item: Item) => unknown,
) {
  const limit = parseWholeNumber(query.get("limit"), defaultLimit);
  const offset = parseWholeNumber(query.get("offset"), 0);
  if (limit === undefined || limit < 1) return new Problem(400, "limit must be a whole number, 1 or more.");
  if (offset === undefined) return new Problem(400, "offset must be a whole number, 0 or more.");
  const page = items.slice(offset, offset + Math.min(limit, maxLimit));
  return ok({ items: page.map(view), total: items.length });
}

function parseWholeNumber(text: string | null, defaultValue: number): number | undefined {
  if (text === null) return defaultValue;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
