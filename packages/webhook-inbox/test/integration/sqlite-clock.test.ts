/** A clock that is set back by two hours: a SQLite inbox waits at most as long as a retry delay or a lease. */
import { describe, expect, it } from "vitest";
import type { SqliteHandler, SqliteInbox } from "../../src/index.ts";
import { balanceChanged, put, toBody } from "../events.ts";
import { recordOutcomes } from "../outcomes.ts";
import { engines, openInbox, scratchFile } from "../sqlite-files.ts";

const twelve = Date.parse("2026-01-01T12:00:00.000Z");
const ten = Date.parse("2026-01-01T10:00:00.000Z");
const pauseMs = 60_000;
const options = { pollMs: 5, backoff: { initialDelayMs: pauseMs, maxDelayMs: pauseMs } };

function putAt(inbox: SqliteInbox, id: string, receivedAtMs: number) {
  const event = balanceChanged(id);
  const raw = { body: toBody(event), receivedAt: new Date(receivedAtMs) };
  return inbox.put(event, raw, { signal: new AbortController().signal });
}

describe.each(engines)("with %s", (_name, open) => {
  /** An inbox with a test clock, and its recorded outcomes. */
  function withClock(file: string, startMs: number) {
    const recorded = recordOutcomes();
    const clock = { nowMs: startMs };
    const { onOutcome } = recorded;
    const inbox = openInbox({
      file,
      open,
      onOutcome,
      testing: { clock: { now: () => clock.nowMs }, random: () => 1 },
    });
    const attempts = () => recorded.of("done").map(({ event, attempt }) => `${event.id} ${attempt}`);
    return { inbox, clock, recorded, attempts };
  }

  it("processes an event that was stored before the clock was set back", async () => {
    const { inbox, clock, recorded, attempts } = withClock(scratchFile(), twelve);
    await putAt(inbox, "evt_before", clock.nowMs);
    clock.nowMs = ten;
    inbox.work(() => {}, options);
    await recorded.until("done");
    await putAt(inbox, "evt_after", clock.nowMs);
    await recorded.until("done", 2);
    expect(attempts()).toEqual(["evt_before 1", "evt_after 1"]);
  });

  it("processes it after a restart too, before later events", async () => {
    const file = scratchFile();
    const first = withClock(file, twelve);
    await putAt(first.inbox, "evt_before", twelve);
    await first.inbox.close();
    const { inbox, recorded, attempts } = withClock(file, ten);
    await putAt(inbox, "evt_after", ten);
    inbox.work(() => {}, { ...options, concurrency: 1 });
    await recorded.until("done", 2);
    expect(attempts()).toEqual(["evt_before 1", "evt_after 1"]);
  });

  it("processes at once an event whose time of receipt is in the future", async () => {
    const { inbox, recorded } = withClock(scratchFile(), ten);
    await putAt(inbox, "evt_1", twelve);
    inbox.work(() => {}, options);
    await recorded.until("done");
    expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_1" }, lagMs: 0 }]);
  });

  it.each([
    ["in the same process", false],
    ["after a restart", true],
  ])("retries after the original delay of the event, %s", async (_case, isRestarted) => {
    const file = scratchFile();
    const first = withClock(file, twelve);
    const handler: SqliteHandler = ({ id }, { attempt }) => {
      if (id === "evt_retried" && attempt === 1) throw new Error("not yet");
    };
    await putAt(first.inbox, "evt_retried", twelve);
    const worker = first.inbox.work(handler, options);
    await first.recorded.until("failed");
    await worker.stop();
    if (isRestarted) await first.inbox.close();
    const { inbox, clock, recorded, attempts } = isRestarted ? withClock(file, ten) : first;
    inbox.work(handler, options);
    for (const passedMs of [0, pauseMs - 1, pauseMs]) {
      clock.nowMs = ten + passedMs;
      await putAt(inbox, `evt_${passedMs}`, clock.nowMs);
      await recorded.until("done", attempts().length + 1);
    }
    await recorded.until("done", 4);
    expect(attempts().slice(0, 2)).toEqual(["evt_0 1", `evt_${pauseMs - 1} 1`]);
    expect(attempts()).toContain("evt_retried 2");
  });

  it("leases the events of another worker after its lease has expired", async () => {
    const file = scratchFile();
    const leaseMs = 30_000;
    const first = withClock(file, twelve);
    await putAt(first.inbox, "evt_held", twelve);
    await new Promise<void>((begun) => {
      first.inbox.work(
        () => {
          begun();
          return new Promise(() => {});
        },
        { ...options, leaseMs },
      );
    });
    const { inbox, clock, recorded, attempts } = withClock(file, ten);
    inbox.work(() => {}, options);
    for (const passedMs of [0, leaseMs - 1, leaseMs]) {
      clock.nowMs = ten + passedMs;
      await putAt(inbox, `evt_${passedMs}`, clock.nowMs);
      await recorded.until("done", attempts().length + 1);
    }
    await recorded.until("done", 4);
    expect(attempts().slice(0, 2)).toEqual(["evt_0 1", `evt_${leaseMs - 1} 1`]);
    expect(attempts()).toContain("evt_held 2");
  });

  it("keeps two processes working when the clock of both is set back", async () => {
    const file = scratchFile();
    const first = withClock(file, twelve);
    const second = withClock(file, twelve);
    await putAt(first.inbox, "evt_1", twelve);
    await putAt(second.inbox, "evt_2", twelve);
    first.clock.nowMs = ten;
    second.clock.nowMs = ten;
    await putAt(second.inbox, "evt_3", ten);
    first.inbox.work(() => {}, options);
    await first.recorded.until("done", 3);
    await putAt(first.inbox, "evt_4", ten);
    await putAt(second.inbox, "evt_5", ten);
    await first.recorded.until("done", 5);
  });

  it("stores nothing while now returns a value that is not a number, and continues afterwards", async () => {
    let reading: unknown = ten;
    const inbox = openInbox({ open, testing: { clock: { now: () => reading as number } } });
    reading = Number.NaN;
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow("it returned NaN");
    reading = ten;
    expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
  });
});

it.each<[string, unknown, string]>([
  ["text", "2026-01-01T12:00:00.000Z", "a value of type string"],
  ["nothing", undefined, "a value of type undefined"],
  ["a Date", new Date(), "a value of type object"],
  ["NaN", Number.NaN, "NaN"],
  ["Infinity", Number.POSITIVE_INFINITY, "Infinity"],
])("rejects a now that returns %s", (_case, value, given) => {
  const now = () => value as number;
  expect(() => openInbox({ testing: { clock: { now } } })).toThrow(
    new TypeError(`now must return the current time as a number of milliseconds; it returned ${given}.`),
  );
});
