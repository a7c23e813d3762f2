/** A clock that is set back by two hours: a SQLite inbox waits at most as long as a retry delay or a lease. */
import { describe, expect, it } from "vitest";
import type { SqliteHandler, SqliteInbox } from "../../src/index.ts";
import { balanceChanged, recordOutcomes, toBody } from "../events.ts";
import { engines, openInbox, scratchFile } from "../sqlite-files.ts";

const twelve = Date.parse("2026-01-01T12:00:00.000Z");
const ten = Date.parse("2026-01-01T10:00:00.000Z");
const pauseMs = 60_000;
const isRestartedOrNot: [string, boolean][] = [
  ["in the same process", false],
  ["after a restart", true],
];
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

  it.each(isRestartedOrNot)(
    "processes an event that was stored before the clock was set back, %s",
    async (_case, isRestarted) => {
      const file = scratchFile();
      const first = withClock(file, twelve);
      await putAt(first.inbox, "evt_before", twelve);
      if (isRestarted) await first.inbox.close();
      const { inbox, clock, recorded, attempts } = isRestarted ? withClock(file, ten) : first;
      clock.nowMs = ten;
      await putAt(inbox, "evt_after", ten);
      inbox.work(() => {}, { ...options, concurrency: 1 });
      await recorded.until("done", 2);
      expect(attempts()).toEqual(["evt_before 1", "evt_after 1"]);
    },
  );

  it("processes at once an event whose time of receipt is in the future", async () => {
    const { inbox, recorded } = withClock(scratchFile(), ten);
    await putAt(inbox, "evt_1", twelve);
    inbox.work(() => {}, options);
    await recorded.until("done");
    expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_1" }, lagMs: 0 }]);
  });

  it.each(isRestartedOrNot)(
    "retries after the original delay of the event, %s",
    async (_case, isRestarted) => {
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
    },
  );

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
});
