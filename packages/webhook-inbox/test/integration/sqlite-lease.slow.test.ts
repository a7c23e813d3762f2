/** Leases on a SQLite file that another process keeps locked: an event whose result could not be stored is retried. */
import { describe, expect, it, onTestFinished } from "vitest";
import { balanceChanged, put, recordOutcomes } from "../events.ts";
import { engines, latch, openInbox, scratchFile } from "../sqlite-files.ts";

describe.each(engines)("with %s", (_name, open) => {
  it("retries an event whose failure could not be stored, while the worker runs another event", async () => {
    const file = scratchFile();
    const recorded = recordOutcomes();
    const inbox = openInbox({ file, open, onOutcome: recorded.onOutcome });
    const other = open(file);
    onTestFinished(() => void other.close());
    await put(inbox, balanceChanged("evt_busy"));
    await put(inbox, balanceChanged("evt_failing"));
    const busy = latch();
    onTestFinished(() => busy.open());
    const attempts: number[] = [];
    inbox.work(
      async ({ id }, { attempt, signal }) => {
        if (id === "evt_busy") {
          await Promise.race([
            busy.opened,
            new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })),
          ]);
          return;
        }
        attempts.push(attempt);
        if (attempt > 1) return;
        other.exec("BEGIN IMMEDIATE");
        throw new Error("This failure cannot be stored.");
      },
      { leaseMs: 7_000, pollMs: 5, backoff: { initialDelayMs: 0, maxDelayMs: 0 } },
    );
    await recorded.until("unavailable"); // the inbox stopped trying to store the failure
    other.exec("COMMIT");
    await recorded.until("done");
    expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_failing" }, attempt: 2 }]);
    expect(attempts).toEqual([1, 2]);
    busy.open();
    await recorded.until("done", 2);
    expect(recorded.of("done")[1]).toMatchObject({ event: { id: "evt_busy" }, attempt: 1 });
  });
});

it.each(engines)(
  "with %s: stores events that waited for a slow transaction longer than the lock timeout",
  async (_name, open) => {
    const inbox = openInbox({ open });
    const slow = inbox.write(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_100); // simulates a slow disk
    });
    const waiting = Array.from({ length: 200 }, (_, index) => put(inbox, balanceChanged(`evt_${index}`)));
    await slow;
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["stored"]));
  },
);
