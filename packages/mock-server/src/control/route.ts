/** A route of the control API: validates the body, converts errors to problem details, limits lists. */
import type { ControlValidator } from "@loyalty-cards/openapi/control-validators";
import { NotFoundError } from "../domain/context.ts";
import { InputError, Problem, validateInput } from "../domain/problem.ts";
import type { App } from "../http/app.ts";
import { emptyReply, jsonReply, parseJson, parseLimit, readText, send } from "../http/reply.ts";
import { WaitTimeoutError } from "./wait-for.ts";

interface ControlCall<Body> {
  /** The variable segments of the path. */
  id: string;
  wallet: string;
  query: Record<string, string>;
  body: Body;
  /** Its signal is aborted when the client disconnects. */
  request: Request;
}

/** The method, the path, in which `:id` is a variable segment, and the status of a response with a body unless it is 200. */
type Endpoint = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

/** Returns the JSON of the response; nothing for a 204. */
type Run<Body> = (call: ControlCall<Body>) => unknown;

/** Adds routes to the control API. `route` does not read a body. */
export type Router = ReturnType<typeof createRouter>;

export function createRouter(app: App) {
  function routeWithBody<Body>(
    endpoint: Endpoint,
    validator: ControlValidator<Body> | undefined,
    run: Run<Body>,
  ): void {
    const [method = "", path, status = "200"] = endpoint.split(" ");
    app.on(method, `/_mock${path}`, async (c) => {
      const { req } = c;
      const { id = "", wallet = "" } = req.param() as Record<string, string>;
      try {
        const body = validator && validateInput(validator, parseJson(c, await readText(c)));
        const result = await run({ id, wallet, query: req.query(), body: body as never, request: req.raw });
        return send(c, result === undefined ? emptyReply(204) : jsonReply(Number(status), result));
      } catch (error) {
        throw toProblem(error);
      }
    });
  }
  const route = (endpoint: Endpoint, run: Run<undefined>) => routeWithBody(endpoint, undefined, run);
  return { route, routeWithBody };
}

/** Converts the errors that the service object throws for the same calls. */
function toProblem(error: unknown): unknown {
  if (error instanceof InputError) return Problem.invalid(error.errors);
  if (error instanceof WaitTimeoutError) return new Problem(408, error.message);
  if (error instanceof NotFoundError) return new Problem(404, error.message);
  if (error instanceof RangeError) return new Problem(409, error.message);
  if (error instanceof TypeError) return new Problem(422, error.message);
  return error;
}

/** The beginning of a list. @param items newest first. @param view converts an item that is returned. */
export function limitList<Item>(
  items: readonly Item[],
  query: Record<string, string>,
  view: (item: Item) => unknown,
) {
  const limit = parseLimit(query["limit"], 20);
  return { items: items.slice(0, limit).map(view), total: items.length };
}

/** @returns undefined for an empty text. @throws {Problem} for another text that is none of the values. */
export function parseChoice(query: Record<string, string>, name: string, values: readonly string[]) {
  const value = query[name] || undefined;
  if (value !== undefined && !values.includes(value))
    throw new Problem(400, `${name} must be one of ${values.join(", ")}.`);
  return value;
}
