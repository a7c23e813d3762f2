/** A SQLite file that another connection keeps locked: an event whose result could not be stored is retried when its lease ends. */
import { expect, it, onTestFinished } from "vitest";
import { balanceChanged, put, recordOutcomes } from "../events.ts";
import { engines, openInbox, scratchFile } from "../sqlite-files.ts";

it.each(engines)("with %s: retries an event whose failure could not be stored", async (_name, open) => {
  const file = scratchFile();
  const recorded = recordOutcomes();
  let passedMs = 0;
  const testing = { clock: { now: () => Date.now() + passedMs } };
  const inbox = openInbox({ file, open, onOutcome: recorded.onOutcome, testing });
  const other = open(file);
  onTestFinished(() => void other.close());
  await put(inbox, balanceChanged("evt_1"));
  const attempts: number[] = [];
  const worker = inbox.work(
    (_event, { attempt }) => {
      attempts.push(attempt);
      if (attempt > 1) return;
      other.exec("BEGIN IMMEDIATE");
      throw new Error("This failure cannot be stored.");
    },
    { handlerTimeoutMs: 1_000, pollMs: 5 },
  );
  await recorded.until("unavailable"); // after five seconds
  other.exec("COMMIT");
  expect(attempts).toEqual([1]);
  passedMs = 31_000;
  await recorded.until("done");
  expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_1" }, attempt: 2 }]);
  expect(recorded.of("failed")).toEqual([]);
  await worker.stop();
});
