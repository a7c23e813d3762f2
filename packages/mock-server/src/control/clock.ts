/** Routes for time: told, set, and moved. */
import type { FiredAttempt } from "../delivery/deliveries.ts";
import type { ClockSetting, ServiceClock } from "../delivery/service-clock.ts";
import { type Duration, durationMs } from "../domain/duration.ts";
import { Problem } from "../domain/problem.ts";
import { number, object, oneOf, type Shape } from "../domain/shape.ts";
import type { World } from "../world.ts";
import { type ControlRoute, ok } from "./route.ts";
import { clockView } from "./views.ts";

const duration: Shape = (value, pointer) => {
  try {
    if (typeof value === "string" || typeof value === "number") durationMs(value as Duration);
    else throw new RangeError('"duration" must be like "90s", "5m", "6h", "1d", or milliseconds.');
    return [];
  } catch (error) {
    return [{ pointer, detail: (error as Error).message }];
  }
};

export const clockRoutes: ControlRoute[] = [
  { method: "GET", path: "/_mock/clock", run: ({ world }) => ok(clockView(world)) },
  {
    method: "PUT",
    path: "/_mock/clock",
    takes: object(
      { mode: oneOf(["system", "manual", "scaled"]), factor: number({ moreThan: 0, atMost: 1_000_000 }) },
      ["mode"],
    ),
    run({ world, body }) {
      world.clock.set(body as ClockSetting);
      return ok(clockView(world));
    },
  },
  {
    method: "POST",
    path: "/_mock/clock/advance",
    takes: object({ duration }, ["duration"]),
    run: ({ world, body }) =>
      moved(world, (clock) => clock.advance((body as { duration: Duration }).duration)),
  },
  {
    method: "POST",
    path: "/_mock/clock/advance-to-next-delivery",
    run: ({ world }) => moved(world, (clock) => clock.advanceToNextDelivery()),
  },
  {
    method: "POST",
    path: "/_mock/clock/run-until-idle",
    run: ({ world }) => moved(world, (clock) => clock.runUntilIdle()),
  },
];

async function moved(world: World, move: (clock: ServiceClock) => Promise<FiredAttempt[]>) {
  if (world.clock.setting().mode === "system") {
    const howTo = 'PUT /_mock/clock with { "mode": "manual" } or { "mode": "scaled" } first.';
    return new Problem(409, `The machine's clock cannot be moved; ${howTo}`);
  }
  const fired = await move(world.clock);
  return ok({ ...clockView(world), fired });
}
