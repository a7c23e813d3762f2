/** The worker on a SQLite file: every event has its effect once, also after failures, timeouts and crashes. */
import { onEvents } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SqliteInbox } from "../../src/index.ts";
import type { SqliteWorkerOptions } from "../../src/sqlite/worker.ts";
import { balanceChanged, put, recordOutcomes } from "../events.ts";
import { engines, latch, openInbox, scratchFile } from "../sqlite-files.ts";

const atOnce: SqliteWorkerOptions = { backoff: { initialDelayMs: 0, maxDelayMs: 0 }, pollMs: 5 };

function endlessHandler() {
  const { open, opened: begun } = latch();
  const handler = () => {
    open();
    return new Promise(() => {});
  };
  return { handler, begun };
}

describe.each(engines)("with %s", (_name, open) => {
  /** An inbox, and a table of the application in the same file. */
  function withBalances(file = scratchFile()) {
    const recorded = recordOutcomes();
    const inbox = openInbox({ file, open, onOutcome: recorded.onOutcome });
    const database = open(file);
    onTestFinished(() => void database.close());
    database.exec("CREATE TABLE IF NOT EXISTS effects (event_id TEXT, attempt INTEGER)");
    const effects = () => database.prepare("SELECT event_id, attempt FROM effects ORDER BY event_id").all();
    return { inbox, recorded, file, effects };
  }
  const writeEffect =
    (event: { id: string }, attempt: number) =>
    (database: { prepare(sql: string): { run(...values: (string | number)[]): unknown } }) => {
      database.prepare("INSERT INTO effects VALUES (?, ?)").run(event.id, attempt);
    };

  it("calls the typed handlers in the order of arrival, also for events stored before the start", async () => {
    const { inbox, recorded } = withBalances();
    const balances: number[] = [];
    for (const balance of [1, 2, 3]) await put(inbox, balanceChanged(`evt_${balance}`, balance));
    inbox.work(
      onEvents({ "balance.changed": ({ data }) => void balances.push(data.balance), otherTypes: () => {} }),
      { concurrency: 1 },
    );
    await put(inbox, balanceChanged("evt_4", 4));
    await recorded.until("done", 4);
    expect(balances).toEqual([1, 2, 3, 4]);
    expect(recorded.of("done")[3]).toMatchObject({
      event: { id: "evt_4", type: "balance.changed" },
      attempt: 1,
    });
    expect((await inbox.list()).map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
  });

  it("runs at most `concurrency` handlers at once", async () => {
    const { inbox, recorded } = withBalances();
    let running = 0;
    let most = 0;
    for (let index = 0; index < 20; index++) await put(inbox, balanceChanged(`evt_${index}`));
    inbox.work(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
      },
      { concurrency: 3 },
    );
    await recorded.until("done", 20);
    expect(most).toBe(3);
  });

  // G3
  it("commits the effect and the state of the event in one transaction", async () => {
    const { inbox, recorded, effects } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((event, delivery) => delivery.write(writeEffect(event, delivery.attempt)));
    await recorded.until("done");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 1 }]);
  });

  it.each([
    ["the handler fails after a call of write", "handler"],
    ["the write itself fails", "write"],
    ["the write is asynchronous, and could continue after its transaction", "async"],
  ])("writes nothing when %s, and retries", async (_case, where) => {
    const { inbox, recorded, effects } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((event, { attempt, write }) => {
      write(writeEffect(event, attempt));
      if (attempt > 1) return;
      if (where === "handler") throw new Error("not yet");
      if (where === "async") write((async () => Promise.reject(new Error("of nobody"))) as () => never);
      else
        write(() => {
          throw new Error("not yet");
        });
    }, atOnce);
    await recorded.until("done");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 2 }]);
    expect(recorded.of("failed")).toMatchObject([{ attempt: 1, retryInMs: 0 }]);
  });

  it("rejects a write after the handler has ended", async () => {
    const { inbox, recorded } = withBalances();
    const late = latch<() => void>();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((_event, delivery) => late.open(() => delivery.write(() => {})));
    await recorded.until("done");
    expect(await late.opened).toThrow("write was called after the handler had ended");
  });

  // G12
  it("leases an event for the time of its handler and 30 seconds", async () => {
    const { inbox, file } = withBalances();
    const { handler, begun } = endlessHandler();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work(handler, { handlerTimeoutMs: 20_000 });
    await begun;
    let passedMs = 49_000; // without the time since the event was leased
    const next = recordOutcomes();
    const testing = { clock: { now: () => Date.now() + passedMs } };
    const other = openInbox({ file, open, onOutcome: next.onOutcome, testing });
    expect(await other.drain(() => {})).toMatchObject({ waiting: 1 });
    passedMs = 50_001;
    expect(await other.drain(() => {})).toMatchObject({ waiting: 0 });
    expect(next.of("done")).toMatchObject([{ attempt: 2 }]);
  });

  // G12
  it("retries the event of a crashed process, and rolls back its late effect", async () => {
    const { inbox, recorded, file, effects } = withBalances();
    const [begun, goOn] = [latch(), latch()];
    await put(inbox, balanceChanged("evt_1"));
    inbox.work(async (event, delivery) => {
      begun.open();
      await goOn.opened;
      delivery.write(writeEffect(event, delivery.attempt));
    });
    await begun.opened;

    // For this worker, the lease of the other has expired.
    const later = recordOutcomes();
    const other = openInbox({
      file,
      open,
      onOutcome: later.onOutcome,
      testing: { clock: { now: () => Date.now() + 3_600_000 } },
    });
    other.work((event, delivery) => delivery.write(writeEffect(event, delivery.attempt)));
    await later.until("done");
    goOn.open();
    await recorded.until("lease-lost");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 2 }]);
  });

  // G28
  it("dead-letters an event whose last attempt crashed the process", async () => {
    const { inbox, recorded, file } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    const { handler, begun } = endlessHandler();
    inbox.work(handler);
    await begun;
    const later = recordOutcomes();
    const other = openInbox({
      file,
      open,
      onOutcome: later.onOutcome,
      testing: { clock: { now: () => Date.now() + 3_600_000 } },
    });
    other.work(() => {}, { maxAttempts: 1 });
    await later.until("dead");
    expect([later.of("done"), recorded.of("done")]).toEqual([[], []]);
    expect(await other.list()).toMatchObject([
      { state: "dead", lastFailure: expect.stringContaining("The process ended during the last attempt.") },
    ]);
    expect(later.of("dead")).toMatchObject([{ event: { id: "evt_1" }, attempt: 1 }]);
  });

  // G28
  it("fails a handler that exceeds its timeout, and aborts its signal", async () => {
    const { inbox, recorded } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    const aborted = latch<string>();
    inbox.work(
      (_event, { attempt, signal }) => {
        if (attempt > 1) return;
        signal.addEventListener("abort", () => aborted.open(String(signal.reason)));
        return new Promise(() => {});
      },
      { ...atOnce, handlerTimeoutMs: 20 },
    );
    await recorded.until("done");
    expect(await aborted.opened).toContain("longer than 20 ms");
    expect(recorded.of("done")).toMatchObject([{ attempt: 2 }]);
  });

  it("stops when the running handlers have ended, without leasing more events", async () => {
    const { inbox, recorded } = withBalances();
    const [begun, goOn] = [latch(), latch()];
    await put(inbox, balanceChanged("evt_1"));
    const worker = inbox.work(
      async () => {
        begun.open();
        await goOn.opened;
      },
      { concurrency: 1 },
    );
    await begun.opened;
    const stopping = worker.stop();
    await put(inbox, balanceChanged("evt_2"));
    goOn.open();
    await stopping;
    expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_1" } }]);
    expect((await inbox.list({ state: "waiting" })).map(({ id }) => id)).toEqual(["evt_2"]);
  });

  it("releases an event whose handler does not end in the grace period, without counting the attempt", async () => {
    const { inbox, file } = withBalances();
    const { handler, begun } = endlessHandler();
    await put(inbox, balanceChanged("evt_1"));
    const worker = inbox.work(handler);
    await begun;
    await worker.stop({ graceMs: 0 });
    const next = recordOutcomes();
    openInbox({ file, open, onOutcome: next.onOutcome }).work(() => {});
    await next.until("done");
    expect(next.of("done")).toMatchObject([{ attempt: 1 }]);
  });

  it("starts no handler when it is stopped while it leases events", async () => {
    const { inbox } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    let calls = 0;
    await inbox.work(() => void calls++).stop({ graceMs: 0 });
    expect(calls).toBe(0);
    await inbox.work(() => void calls++).stop();
    expect((await inbox.list({ state: "waiting" })).map(({ id }) => id)).toEqual(["evt_1"]);
  });

  it("ends drain when the inbox is closed meanwhile, also after maxMs", async () => {
    for (const maxMs of [undefined, 0]) {
      const { inbox } = withBalances();
      const { handler, begun } = endlessHandler();
      await put(inbox, balanceChanged("evt_1"));
      await put(inbox, balanceChanged("evt_2"));
      const drained = inbox.drain(handler, { concurrency: 1, ...(maxMs !== undefined && { maxMs }) });
      await Promise.race([begun, drained]); // after 0 ms it may have ended before the handler began
      await inbox.close({ graceMs: 0 });
      await drained;
    }
  });

  it("refuses an invalid grace before it closes, and a later close shortens the grace", async () => {
    const { inbox } = withBalances();
    for (const graceMs of [Number.POSITIVE_INFINITY, -1])
      await expect(inbox.close({ graceMs })).rejects.toThrow("graceMs must be a number from 0");
    await put(inbox, balanceChanged("evt_1"));
    const { handler, begun } = endlessHandler();
    inbox.work(handler);
    await begun;
    const closed = inbox.close({ graceMs: 2 ** 31 - 1 });
    await inbox.close({ graceMs: 0 });
    await closed;
  });
});

it("increases the delay after each failure, with jitter", async () => {
  const recorded = recordOutcomes();
  const inbox: SqliteInbox = openInbox({ onOutcome: recorded.onOutcome, testing: { random: () => 0 } });
  await put(inbox, balanceChanged("evt_1"));
  inbox.work(
    () => {
      throw new Error("no");
    },
    { maxAttempts: 5, backoff: { initialDelayMs: 4, maxDelayMs: 10 } },
  );
  await recorded.until("dead");
  expect(recorded.of("failed").map(({ retryInMs }) => retryInMs)).toEqual([2, 4, 5, 5]);
});

it("runs four handlers at once by default, and leases their events for 90 seconds", async () => {
  const file = scratchFile();
  const inbox = openInbox({ file });
  for (let index = 1; index <= 6; index++) await put(inbox, balanceChanged(`evt_${index}`));
  const begun = latch();
  let running = 0;
  inbox.work(() => {
    running += 1;
    if (running === 4) begun.open();
    return new Promise(() => {});
  });
  await begun.opened;
  let passedMs = 80_000;
  const other = openInbox({ file, testing: { clock: { now: () => Date.now() + passedMs } } });
  expect(await other.drain(() => {})).toMatchObject({ waiting: 4 });
  passedMs = 90_001;
  expect(await other.drain(() => {})).toMatchObject({ waiting: 0 });
  expect(running).toBe(4);
});

it("tries an event 25 times by default, with pauses of at most an hour", async () => {
  const { onOutcome, of } = recordOutcomes();
  let passedMs = 0;
  const inbox = openInbox({ onOutcome, testing: { clock: { now: () => Date.now() + passedMs } } });
  await put(inbox, balanceChanged("evt_1"));
  for (; of("dead").length === 0; passedMs += 3_600_000)
    await inbox.drain(() => Promise.reject(new Error("no")));
  expect(of("failed")).toHaveLength(24);
  expect(await inbox.list()).toMatchObject([{ state: "dead", attempts: 25 }]);
});

it("survives a listener that throws", async () => {
  const lines: string[] = [];
  const inbox = openInbox({
    onOutcome: () => {
      throw new RangeError("mine");
    },
    log: (line) => void lines.push(line),
  });
  expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
  expect(lines).toEqual(["webhook-inbox: onOutcome threw RangeError; it must not throw."]);
});

it.each([
  [{ concurrency: 0 }, /concurrency must be a number from 1/],
  [{ maxAttempts: Number.NaN }, /maxAttempts must be a number/],
  [{ pollMs: -1 }, /pollMs/],
  [{ handlerTimeoutMs: 2 ** 31 }, /handlerTimeoutMs/],
  [{ backoff: { initialDelayMs: 10, maxDelayMs: 5 } }, /backoff\.maxDelayMs must be a number from 10/],
])("rejects the worker options %o, and a worker without a handler", (options, message) => {
  const inbox = openInbox();
  expect(() => inbox.work(() => {}, options)).toThrow(message);
  expect(() => inbox.work(undefined as never)).toThrow("work needs a handler");
});
