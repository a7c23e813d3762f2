/** The API's routes: the key tells the world, faults strike before or after the work, and the operation answers. */
import { bearerOf } from "../domain/api-keys.ts";
import { Problem } from "../domain/problem.ts";
import { type FaultTarget, takeRequestFault } from "../faults/rules.ts";
import { insteadOf, pause, spoiled } from "../faults/strike.ts";
import type { Worlds } from "../worlds.ts";
import { readJson } from "./body.ts";
import { documentOf } from "./document.ts";
import { type OperationId, operations } from "./operations.ts";
import type { Reply } from "./reply.ts";
import type { Route } from "./router.ts";

/** Looks at what an operation is about to answer; strict services do. */
export type InspectAnswer = (operationId: OperationId, answer: Reply | Problem) => Reply | Problem;

const asItIs: InspectAnswer = (_operationId, answer) => answer;

export function apiRoutes(worlds: Worlds, baseUrl: string, inspect: InspectAnswer = asItIs): Route[] {
  const ids = Object.keys(operations) as OperationId[];
  const document = documentOf(baseUrl);
  return [
    ...ids.map((id) => apiRoute(worlds, id, inspect)),
    { method: "GET", path: "/api/docs/json", answer: () => ({ status: 200, body: document }) },
  ];
}

function apiRoute(worlds: Worlds, operationId: OperationId, inspect: InspectAnswer): Route {
  const operation = operations[operationId];
  return {
    method: operation.method,
    path: `/api/v1${operation.path}`,
    async answer({ request, url, params: [id = ""] }) {
      const found = worlds.ofKey(bearerOf(request.headers.get("authorization")));
      if (found === undefined)
        return inspect(operationId, new Problem(401, "The API key is missing or unknown."));
      const { domain } = found.world;
      const target: FaultTarget = {
        operation: operationId,
        method: operation.method,
        path: url.pathname,
        idempotencyKey: request.headers.get("idempotency-key") ?? undefined,
      };
      const before = takeRequestFault(domain, "before", target);
      if (before?.kind === "latency") await pause(before.delayMs, request.signal);
      else if (before !== undefined) return insteadOf(before);

      const body = operation.hasBody ? await readJson(request) : { value: undefined };
      const done =
        body instanceof Problem
          ? body
          : operation.run(domain, {
              id,
              query: url.searchParams,
              headers: request.headers,
              body: body.value,
              apiKeyKind: found.apiKey.kind,
            });
      const answer = inspect(operationId, done);
      if (answer instanceof Problem) return answer; // nothing was committed

      const after = takeRequestFault(domain, "after-commit", target);
      if (after?.kind === "latency") await pause(after.delayMs, request.signal);
      else if (after !== undefined) return spoiled(after, answer);
      return answer;
    },
  };
}
