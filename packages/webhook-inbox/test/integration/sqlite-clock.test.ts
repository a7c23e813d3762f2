/** A clock that is set back by two hours: a SQLite inbox waits at most as long as a retry delay or a lease. */
import { describe, expect, it } from "vitest";
import type { SqliteInbox } from "../../src/index.ts";
import { balanceChanged, recordOutcomes, toBody } from "../events.ts";
import { engines, openInbox, scratchFile } from "../sqlite-files.ts";

const twelve = Date.parse("2026-01-01T12:00:00.000Z");
const ten = Date.parse("2026-01-01T10:00:00.000Z");
const pauseMs = 60_000;
const leaseMs = 60_000 + 30_000;
const options = {
  pollMs: 5,
  handlerTimeoutMs: 60_000,
  backoff: { initialDelayMs: pauseMs, maxDelayMs: pauseMs },
};

function putAt(inbox: SqliteInbox, id: string, receivedAtMs: number) {
  const event = balanceChanged(id);
  const raw = { body: toBody(event), receivedAt: new Date(receivedAtMs) };
  return inbox.put(event, raw, { signal: new AbortController().signal });
}

/** Resolves when a handler runs that never ends, as in a process that dies later. */
const workWithoutEnd = (inbox: SqliteInbox) =>
  new Promise<void>((begun) => {
    const handler = () => {
      begun();
      return new Promise<void>(() => {});
    };
    inbox.work(handler, { ...options, concurrency: 1 });
  });

describe.each(engines)("with %s", (_name, open) => {
  /** An inbox with a test clock, and its recorded outcomes. */
  function withClock(startMs: number, file = scratchFile()) {
    const recorded = recordOutcomes();
    const clock = { nowMs: startMs };
    const { onOutcome } = recorded;
    const testing = { clock: { now: () => clock.nowMs }, random: () => 1 };
    const inbox = openInbox({ file, open, onOutcome, testing });
    const attempts = () => recorded.of("done").map(({ event, attempt }) => `${event.id} ${attempt}`);
    return { inbox, clock, recorded, attempts, file };
  }

  it("processes an event that was stored before the clock was set back", async () => {
    const { inbox, clock, recorded, attempts } = withClock(twelve);
    await putAt(inbox, "evt_before", twelve);
    clock.nowMs = ten;
    await putAt(inbox, "evt_after", ten);
    inbox.work(() => {}, { ...options, concurrency: 1 });
    await recorded.until("done", 2);
    expect(attempts()).toEqual(["evt_before 1", "evt_after 1"]);
  });

  it("processes at once an event whose time of receipt is in the future", async () => {
    const { inbox, recorded } = withClock(ten);
    await putAt(inbox, "evt_1", twelve);
    inbox.work(() => {}, options);
    await recorded.until("done");
    expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_1" }, lagMs: 0 }]);
  });

  it("retries after the original delay of the event", async () => {
    const { inbox, clock, recorded, attempts } = withClock(twelve);
    await putAt(inbox, "evt_retried", twelve);
    inbox.work(({ id }, { attempt }) => {
      if (id === "evt_retried" && attempt === 1) throw new Error("not yet");
    }, options);
    await recorded.until("failed");
    for (const passedMs of [0, pauseMs - 1, pauseMs]) {
      clock.nowMs = ten + passedMs;
      await putAt(inbox, `evt_${passedMs}`, clock.nowMs);
      await recorded.until("done", attempts().length + 1);
    }
    await recorded.until("done", 4);
    expect(attempts().slice(0, 2)).toEqual(["evt_0 1", `evt_${pauseMs - 1} 1`]);
    expect(attempts()).toContain("evt_retried 2");
  });

  it("leases the event of a process that died, after its lease", async () => {
    const first = withClock(twelve);
    const second = withClock(twelve, first.file);
    await putAt(first.inbox, "evt_held", twelve);
    await putAt(second.inbox, "evt_own", twelve);
    await workWithoutEnd(first.inbox);
    const { inbox, clock, recorded, attempts } = second;
    inbox.work(() => {}, options);
    await recorded.until("done");
    for (const passedMs of [0, leaseMs - 1, leaseMs]) {
      clock.nowMs = ten + passedMs;
      await putAt(inbox, `evt_${passedMs}`, clock.nowMs);
      await recorded.until("done", attempts().length + 1);
    }
    await recorded.until("done", 5);
    expect(attempts().slice(0, 3)).toEqual(["evt_own 1", "evt_0 1", `evt_${leaseMs - 1} 1`]);
    expect(attempts()).toContain("evt_held 2");
  });

  it("leases the event of a process that died in one that begins after the clock was set back", async () => {
    const first = withClock(twelve);
    await putAt(first.inbox, "evt_held", twelve);
    await workWithoutEnd(first.inbox);
    const { inbox, clock, recorded, attempts } = withClock(ten, first.file);
    inbox.work(() => {}, options);
    await putAt(inbox, "evt_own", ten);
    await recorded.until("done");
    expect(attempts()).toEqual(["evt_own 1"]);
    clock.nowMs = ten + leaseMs;
    await recorded.until("done", 2);
    expect(attempts()).toEqual(["evt_own 1", "evt_held 2"]);
  });
});
