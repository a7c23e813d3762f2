/** A route of the control API: validates the body, converts errors to problem details, pages lists. */
import type { ControlValidator } from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import { NotFoundError } from "../domain/context.ts";
import { InputError, Problem, validateInput } from "../domain/problem.ts";
import {
  emptyResponse,
  jsonResponse,
  readJson,
  type ServiceRequest,
  type ServiceResponse,
} from "../http/messages.ts";
import type { Route, RouteCall } from "../http/router.ts";

interface ControlCall<Body> {
  backend: Backend;
  domain: Backend["domain"];
  /** The first variable segment of the path. */
  id: string;
  /** The second variable segment of the path. */
  secondId: string;
  query: URLSearchParams;
  body: Body;
  request: ServiceRequest;
}

/** `undefined` becomes a 204. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing
type ControlResult = ServiceResponse | Problem | void;

export type ControlRoute = (backend: Backend) => Route;

/**
 * @param endpoint the method and the path, in which `*` is a variable segment.
 * @param validator of the body. Without it the body is not read.
 */
export const route =
  <Body = undefined>(
    endpoint: `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`,
    run: (call: ControlCall<Body>) => ControlResult | Promise<ControlResult>,
    validator?: ControlValidator<Body>,
  ): ControlRoute =>
  (backend) => {
    const [method = "", path = ""] = endpoint.split(" ");
    const { domain } = backend;
    return {
      method,
      path,
      async handle({ request, url, params: [id = "", secondId = ""] }: RouteCall) {
        const query = url.searchParams;
        try {
          const json = validator === undefined ? { value: undefined } : await readJson(request);
          if (json instanceof Problem) return json;
          const body = (validator === undefined ? undefined : validateInput(validator, json.value)) as Body;
          return (await run({ backend, domain, id, secondId, query, body, request })) ?? emptyResponse(204);
        } catch (error) {
          return toProblem(error);
        }
      },
    };
  };

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
