/** One route of the control API: which world, what the body may say, and which refusal an error becomes. */
import { NotFoundError } from "../domain/not-found.ts";
import { Problem } from "../domain/problem.ts";
import { checked, InputError, type Shape } from "../domain/shape.ts";
import { readJson } from "../http/body.ts";
import type { Reply } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";
import type { Route, RouteCall } from "../http/router.ts";
import type { World } from "../world.ts";
import type { Worlds } from "../worlds.ts";

export interface ControlCall {
  world: World;
  params: readonly string[];
  query: URLSearchParams;
  /** The body, of the shape that the route asks for. */
  body: unknown;
  request: HttpRequest;
}

export interface ControlRoute {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** What the body must look like; a route without one reads none. */
  takes?: Shape;
  run(call: ControlCall): Reply | Problem | Promise<Reply | Problem>;
}

export function routeOf(worlds: Worlds, { method, path, takes, run }: ControlRoute): Route {
  return {
    method,
    path,
    async answer({ request, url, params }: RouteCall) {
      const query = url.searchParams;
      const id = query.get("world") ?? worlds.first.id;
      const world = worlds.get(id);
      if (world === undefined) return new Problem(404, `There is no world "${id}".`);
      try {
        const body = takes === undefined ? { value: undefined } : await readJson(request);
        if (body instanceof Problem) return body;
        if (takes !== undefined) checked(takes, body.value);
        return await run({ world, params, query, body: body.value, request });
      } catch (error) {
        return refusalOf(error);
      }
    },
  };
}

/** Errors of the domain's functions, as a caller of the service object gets them, become problems here. */
function refusalOf(error: unknown): Problem {
  if (error instanceof InputError) return Problem.invalid(error.faults);
  if (error instanceof NotFoundError) return new Problem(404, error.message);
  if (error instanceof RangeError) return new Problem(409, error.message);
  if (error instanceof TypeError) return new Problem(422, error.message);
  throw error;
}

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body: unknown): Reply => ({ status: 201, body });
export const done: Reply = { status: 204 };
