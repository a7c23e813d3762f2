/** Progress of a bulk run in virtual time: counts, rate, pauses, and the remaining time. */
import type { BulkOptions } from "@loyalty-cards/issuing-client/bulk";
import { describe, expect, it } from "vitest";
import type { BulkProgress } from "../src/bulk/issue-cards.ts";
import {
  type BulkServiceOptions,
  createBulkService,
  memoryCheckpoint,
  toRow,
  toRows,
} from "./bulk-service.ts";
import { json } from "./scripted.ts";
import { createTestClock } from "./test-clock.ts";

it("reports counts, rate and remaining time", async () => {
  const { run } = createBulkService();
  const reports: BulkProgress[] = [];
  await run(toRows(1_500), {
    concurrency: 10,
    total: 1_500,
    onProgress: (progress) => reports.push(progress),
  });
  expect(reports.at(-1)).toMatchObject({
    read: 1_500,
    issued: 1_500,
    rejected: 0,
    inFlight: 0,
    total: 1_500,
    etaMs: 0,
  });
  const { elapsedMs: endMs = 0 } = reports.at(-1) ?? {};
  const first = reports.find(({ etaMs }) => etaMs !== undefined);
  expect(first?.elapsedMs).toBeLessThan(7_000);
  expect(((first?.elapsedMs ?? 0) + (first?.etaMs ?? 0)) / endMs).toBeCloseTo(1, 1);
  expect(reports[20]).toMatchObject({ concurrency: 10, inFlight: 10 });
  expect(reports[20]?.perSecond).toBeCloseTo(100, -1);
});

it("reports how long the run is paused, and why", async () => {
  let count = 0;
  const reports: BulkProgress[] = [];
  const { run } = createBulkService({
    respond: () => (count++ === 0 ? json({}, 429, { "retry-after": "20" }) : undefined),
  });
  await run(toRows(10), { onProgress: (progress) => reports.push(progress) });
  const paused = reports.map(({ pausedMs }) => pausedMs).filter((ms) => ms !== undefined);
  expect(paused[0]).toBeGreaterThan(19_000);
  expect(paused.length).toBeGreaterThan(30);
  expect(reports.find(({ pausedMs }) => pausedMs !== undefined)?.pausedBy?.code).toBe("rate-limited");
  expect(reports.at(-1)).not.toHaveProperty("pausedMs");
  expect(reports.at(-1)).not.toHaveProperty("pausedBy");
});

/** Runs to the end. @returns the first estimate of the duration, divided by the duration. */
async function estimate(
  { run }: Pick<ReturnType<typeof createBulkService>, "run">,
  source: Parameters<typeof run>[0],
  options: Partial<BulkOptions> & { total: number },
): Promise<number> {
  const reports: BulkProgress[] = [];
  const { statuses } = await run(source, { ...options, onProgress: (progress) => reports.push(progress) });
  expect((statuses["issued"] ?? 0) + (statuses["replayed"] ?? 0)).toBe(options.total);
  const first = reports.find(({ etaMs }) => etaMs !== undefined);
  const duration = reports.at(-1)?.elapsedMs ?? 0;
  expect(first?.elapsedMs).toBeLessThan(duration / 2); // later it would be worth little
  return ((first?.elapsedMs ?? 0) + (first?.etaMs ?? 0)) / duration;
}

/** Every so manieth row fails once, with or without a card. */
function failOnce(every: number): NonNullable<BulkServiceOptions["respond"]> {
  const keys = new Map<string, boolean>();
  return ({ key }) => {
    const fails = keys.get(key) ?? keys.size % every === 0;
    keys.set(key, false);
    return fails ? json({}, 500) : undefined;
  };
}

describe("the first estimate, against a service of constant speed", () => {
  const isWithinTenth = (share: number) => expect(Math.abs(share - 1)).toBeLessThan(0.1);

  it.each([
    [1, 400],
    [4, 1_000],
    [8, 6_000],
    [32, 400],
  ])("is within a tenth with %i requests at once of %i ms each", async (concurrency, latencyMs) => {
    const total = Math.round(Math.max(40_000 / latencyMs, 20) * concurrency);
    isWithinTenth(await estimate(createBulkService({ latencyMs }), toRows(total), { concurrency, total }));
  });

  it.each([5, 40, 100])("is within a tenth with %i requests per second at most", async (maxPerSecond) => {
    const total = maxPerSecond * 40;
    isWithinTenth(await estimate(createBulkService(), toRows(total), { maxPerSecond, total }));
  });

  it("is within a tenth when one of 20 rows fails and is sent again", async () => {
    const service = createBulkService({ respond: failOnce(20) });
    isWithinTenth(await estimate(service, toRows(4_000), { concurrency: 10, total: 4_000 }));
  });

  it.each([
    ["in the order of the first run", (before: number[], after: number[]) => [...before, ...after]],
    ["last", (before: number[], after: number[]) => [...after, ...before]],
    [
      "between the others",
      (before: number[], after: number[]) =>
        before.flatMap((id, index) => [id, ...after.slice(index / 2, (index + 1) / 2)]),
    ],
  ])("is within a tenth for a run that is resumed, with its rows %s", async (_name, order) => {
    const clock = createTestClock();
    const { checkpoint } = memoryCheckpoint();
    const [before, after] = [0, 2_000].map((from) =>
      Array.from({ length: from === 0 ? 2_000 : 1_000 }, (_, index) => from + index),
    ) as [number[], number[]];
    const isRejected = new Set<string>();
    const first = createBulkService({
      clock,
      latencyMs: 1,
      respond: ({ key }) => {
        if (isRejected.size * 100 > first.sent.length) return undefined;
        isRejected.add(key);
        return json({ detail: "Not now." }, 422);
      },
    });
    await first.run(
      before.map((id) => toRow(id)),
      { checkpoint },
    );
    /** Reading takes time too: a second for 1 000 rows. */
    async function* read() {
      for (const [index, id] of order(before, after).entries()) {
        if (index % 10 === 0) await new Promise<void>((resolve) => void clock.after(10, resolve));
        yield toRow(id);
      }
    }
    const service = createBulkService({ clock });
    isWithinTenth(await estimate(service, read(), { checkpoint, concurrency: 5, total: 3_000 }));
  });
});
