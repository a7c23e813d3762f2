/** Control routes for the clock: read it, set its mode, move it. */
import { AdvanceInput, ClockSetting } from "@loyalty-cards/openapi/control-validators";
import type { AttemptRecord } from "../delivery/deliveries.ts";
import { type Duration, toMilliseconds } from "../domain/clock.ts";
import { InputError } from "../domain/input.ts";
import { Problem } from "../domain/problem.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { ServiceClock } from "../sandbox/service-clock.ts";
import { ok, route } from "./route.ts";

export const clockRoutes = [
  route("GET /_mock/clock", ({ sandbox }) => ok(toClockView(sandbox))),
  route(
    "PUT /_mock/clock",
    ({ sandbox, body }) => {
      sandbox.clock.set(body);
      return ok(toClockView(sandbox));
    },
    ClockSetting,
  ),
  route(
    "POST /_mock/clock/advance",
    ({ sandbox, body }) => {
      const durationMs = parseDuration(body.duration);
      return moveClock(sandbox, (clock) => clock.advance(durationMs));
    },
    AdvanceInput,
  ),
  route("POST /_mock/clock/advance-to-next-delivery", ({ sandbox }) =>
    moveClock(sandbox, (clock) => clock.advanceToNextDelivery()),
  ),
  route("POST /_mock/clock/run-until-idle", ({ sandbox }) =>
    moveClock(sandbox, (clock) => clock.runUntilIdle()),
  ),
];

function parseDuration(duration: string | number): number {
  try {
    return toMilliseconds(duration as Duration);
  } catch (error) {
    throw new InputError([{ pointer: "/duration", detail: (error as Error).message }]);
  }
}

async function moveClock(sandbox: Sandbox, move: (clock: ServiceClock) => Promise<AttemptRecord[]>) {
  if (sandbox.clock.setting().mode === "system") {
    const advice = 'PUT /_mock/clock with { "mode": "manual" } or { "mode": "scaled" } first.';
    return new Problem(409, `The machine's clock cannot be moved; ${advice}`);
  }
  const attempts = await move(sandbox.clock);
  return ok({ ...toClockView(sandbox), attempts });
}

function toClockView({ clock }: Sandbox) {
  const nextMs = clock.nextAttemptAt();
  return {
    now: new Date(clock.now()).toISOString(),
    ...clock.setting(),
    ...(nextMs !== undefined && { nextAttemptAt: new Date(nextMs).toISOString() }),
  };
}
