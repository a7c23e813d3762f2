/**
 * A route of the control API: validates the body, limits lists, and makes problem details of what
 * the functions of the service object throw.
 */
import type { Result } from "@loyalty-cards/internal/result";
import type { ControlValidator } from "@loyalty-cards/openapi/control-validators";
import { ConflictError, InputError, NotFoundError } from "../domain/errors.ts";
import { createProblem, createValidationProblem, type Problem } from "../domain/problem.ts";
import { validateInput } from "../domain/validation.ts";
import { type ApiContext, type App, respond } from "../http/app.ts";
import { emptyReply, jsonReply, problemReply, type Reply } from "../http/reply.ts";
import { parseJson, parseLimit, readText } from "../http/request.ts";
import { WaitTimeoutError } from "./wait-for.ts";

/** The longest list of a response. The console asks for 100 more each time. */
export const maxListed = 10_000;

interface RouteInput {
  /** The variable segments of the path. */
  id: string;
  wallet: string;
  query: Record<string, string>;
  /** Its signal is aborted when the client disconnects. */
  request: Request;
}

/** The method and the path, in which `:id` is a variable segment. */
type RoutePattern = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

/** Returns the JSON of the response; nothing for a 204. */
type Run<Input> = (input: Input) => unknown;

/**
 * Adds routes to the control API. `route` does not read a body. A `status` is that of a response
 * with a body.
 */
export type Router = ReturnType<typeof createRouter>;

export function createRouter(app: App) {
  function addRoute(
    pattern: RoutePattern,
    run: (input: RouteInput, context: ApiContext) => Promise<Result<unknown, Problem>>,
    status = 200,
  ): void {
    const [method = "", path] = pattern.split(" ");
    app.on(method, `/_mock${path}`, async (context) => {
      try {
        const result = await run(toRouteInput(context), context);
        return respond(context, toReply(result, status));
      } catch (error) {
        return respond(context, problemReply(toProblem(error)));
      }
    });
  }

  return {
    route(pattern: RoutePattern, run: Run<RouteInput>, status?: number): void {
      addRoute(pattern, async (input) => ({ value: await run(input) }), status);
    },

    routeWithBody<Body>(
      pattern: RoutePattern,
      validator: ControlValidator<Body>,
      run: Run<RouteInput & { body: Body }>,
      status?: number,
    ): void {
      async function runWithBody(input: RouteInput, context: ApiContext) {
        const text = await readText(context);
        if (text.failure !== undefined) return text;
        const json = parseJson(context, text.value);
        if (json.failure !== undefined) return json;
        const body = validateInput(validator, json.value);
        return { value: await run({ ...input, body }) };
      }
      addRoute(pattern, runWithBody, status);
    },

    /**
     * A list, newest first: the response has its beginning and its length.
     * @param view converts an item that the response has.
     */
    routeList<Item>(
      pattern: RoutePattern,
      list: (input: RouteInput) => readonly Item[],
      view: (item: Item) => unknown,
    ): void {
      addRoute(pattern, async (input) => {
        const items = list(input);
        const limit = parseLimit(input.query["limit"], { max: maxListed });
        if (limit.failure !== undefined) return limit;
        const viewed = items.slice(0, limit.value).map((item) => view(item));
        return { value: { items: viewed, total: items.length } };
      });
    },

    /** A route that checks its query. */
    routeQuery(
      pattern: RoutePattern,
      run: (query: RouteInput["query"]) => Result<unknown, Problem>,
    ): void {
      addRoute(pattern, async ({ query }) => run(query));
    },
  };
}

function toRouteInput({ req }: ApiContext): RouteInput {
  const { id = "", wallet = "" } = req.param() as Record<string, string>;
  return { id, wallet, query: req.query(), request: req.raw };
}

function toReply({ value, failure }: Result<unknown, Problem>, status: number): Reply {
  if (failure !== undefined) return problemReply(failure);
  return value === undefined ? emptyReply(204) : jsonReply(status, value);
}

/** The status for each mistake of a caller. */
const statusByError = [
  [WaitTimeoutError, 408],
  [NotFoundError, 404],
  [ConflictError, 409],
  [InputError, 422],
] as const;

/** @throws the error, when it is a mistake of the service. */
function toProblem(error: unknown): Problem {
  if (error instanceof InputError && error.errors.length > 0)
    return createValidationProblem(error.errors);
  const [, status] = statusByError.find(([type]) => error instanceof type) ?? [];
  if (status === undefined) throw error;
  return createProblem(status, (error as Error).message);
}

/** The value of a parameter that has one of a few; undefined when it is absent or empty. */
export function parseChoice<Choice extends string>(
  query: Record<string, string>,
  name: string,
  choices: readonly Choice[],
): Result<Choice | undefined, Problem> {
  const text = query[name] ?? "";
  if (text === "") return { value: undefined };
  const choice = choices.find((each) => each === text);
  if (choice !== undefined) return { value: choice };
  return { failure: createProblem(400, `${name} must be one of ${choices.join(", ")}.`) };
}
