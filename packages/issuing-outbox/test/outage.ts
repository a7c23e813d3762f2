/**
 * Thirty hours without a service, in virtual time: who signs up has a card soon after it, and few
 * entries are tried meanwhile.
 */
import { expect, it } from "vitest";
import { openSqliteShop, openVirtualShop, openWithoutSync, type Weather } from "./shop.ts";

const minute = 60_000;
const users = 120;
const pauseMs = 15 * minute;
const pollMs = 5 * minute;

export const outages = ["503", "timeouts", "refused connections"] as const;
export const fleets = ["one process", "three processes", "a process for each call"] as const;

export function testOutage(outage: (typeof outages)[number], fleet: (typeof fleets)[number]): void {
  it(`of thirty hours lets all sign-ups succeed, and tries few entries: ${outage}, ${fleet}`, async () => {
    const { outbox, signUp, run, clock, file, clientOptions, ...network } = openVirtualShop();
    const { weather, requests, warnings } = network;
    const openOther = () =>
      openSqliteShop(network, { file, clientOptions, open: openWithoutSync }).outbox;
    const isPerCall = fleet === "a process for each call";
    const outboxes = fleet === "three processes" ? [outbox, openOther(), openOther()] : [outbox];
    const workers = isPerCall ? [] : outboxes.map((each) => each.work({ pollMs }));
    async function call<Result>(work: (own: typeof outbox) => Promise<Result>): Promise<Result> {
      if (!isPerCall) return run(work(outbox));
      const own = openOther();
      const result = await run(work(own));
      await run(own.close());
      return result;
    }
    /**
     * The service issues the card when the client has stopped waiting, and its response is lost.
     */
    const respondLate = () => clock.wait(15_000, "lost");
    const weathers: Record<typeof outage, Weather> = {
      "503": 503,
      timeouts: respondLate,
      "refused connections": "refused",
    };

    for (let userId = 0; userId < users; userId++) {
      weather.splice(0, weather.length, ...Array.from({ length: 200 }, () => weathers[outage]));
      await run(signUp(String(userId)));
      expect(await call((own) => own.issue(userId, { deadlineMs: 5_000 }))).toMatchObject({
        state: "waiting",
      });
      await clock.pass(pauseMs);
      if (isPerCall) await call((own) => own.drain()); // by a schedule
    }
    const tried = new Set(requests.map(({ key }) => key)).size;
    expect(tried).toBeLessThanOrEqual(3 + 12);

    weather.length = 0;
    requests.length = 0;
    const recoveredMs = clock.monotonicMs();
    if (isPerCall) await clock.pass(minute).then(() => call((own) => own.drain()));
    while (requests.length === 0) await clock.pass(1_000);
    expect(clock.monotonicMs() - recoveredMs).toBeLessThanOrEqual(61_000);
    await clock.pass(pollMs);
    const counts = await outbox.count();
    expect(counts).toMatchObject({ waiting: 0, paused: [] });
    expect(counts.unknown).toBeLessThanOrEqual(outage === "refused connections" ? 0 : tried);
    expect(counts.issued + counts.unknown).toBe(users);
    expect(warnings).toEqual([]);
    for (const worker of workers) await run(worker.stop());
  }, 120_000);
}
