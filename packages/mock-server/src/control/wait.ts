/** The route that waits, so that nobody writes a loop that asks. */
import { eventTypes } from "../delivery/endpoints.ts";
import { Problem } from "../domain/problem.ts";
import { anyObject, number, object, oneOf, type Shape, text } from "../domain/shape.ts";
import { type WaitCondition, WaitTimeout, waitFor } from "../waiting.ts";
import { type ControlRoute, ok } from "./route.ts";

const type = oneOf(eventTypes);

/** A card's members are the API's business; only its id is asked for. */
const card: Shape = (value, pointer) => {
  const faults = anyObject(value, pointer);
  return faults.length > 0 ? faults : text((value as { id?: unknown }).id, `${pointer}/id`);
};

const wait = object({
  event: object({ type, id: text, data: anyObject }),
  delivery: object({
    id: text,
    eventId: text,
    endpointId: text,
    type,
    state: oneOf(["pending", "delivered", "failed"]),
  }),
  card,
  count: number({ atLeast: 1, atMost: 1_000, isWhole: true }),
  timeoutMs: number({ atLeast: 0, atMost: 60_000 }),
});

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
