/** The route that waits, so that nobody writes a loop that asks. */
import { Problem } from "../domain/problem.ts";
import { number, object } from "../domain/shape.ts";
import { conditionMembers, type WaitCondition, WaitTimeout, waitFor } from "../waiting.ts";
import { type ControlRoute, ok } from "./route.ts";

const wait = object({ ...conditionMembers, timeoutMs: number({ atLeast: 0, atMost: 60_000 }) });

export const waitRoutes: ControlRoute[] = [
  {
    method: "POST",
    path: "/_mock/wait",
    takes: wait,
    async run({ world, body, request: { signal } }) {
      const { timeoutMs, ...condition } = body as WaitCondition & { timeoutMs?: number };
      const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
      try {
        return ok({ items: await waitFor(world, condition as WaitCondition, options) });
      } catch (error) {
        if (error instanceof WaitTimeout || signal.aborted) return new Problem(408, String(error));
        throw error;
      }
    },
  },
];
