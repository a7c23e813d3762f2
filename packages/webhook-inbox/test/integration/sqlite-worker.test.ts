/**
 * The worker on a SQLite file: every event has its effect once, also after failures, timeouts and
 * crashes, and when the clock was set back.
 */
import { createGate, scratchFile } from "@loyalty-cards/testing/resources";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SqliteWorkerOptions } from "../../src/sqlite/worker.ts";
import { balanceChanged, engines, openAhead, openInbox, put, recordOutcomes } from "../inboxes.ts";

const atOnce: SqliteWorkerOptions = { backoff: { initialDelayMs: 0, maxDelayMs: 0 }, pollMs: 5 };
const hourMs = 3_600_000;

function endlessHandler() {
  const { open, opened: begun } = createGate();
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
    const effects = () =>
      database.prepare("SELECT event_id, attempt FROM effects ORDER BY event_id").all();
    return { inbox, recorded, file, effects };
  }
  const writeEffect =
    (event: { id: string }, attempt: number) =>
    (database: { prepare(sql: string): { run(...values: (string | number)[]): unknown } }) => {
      database.prepare("INSERT INTO effects VALUES (?, ?)").run(event.id, attempt);
    };
  /**
   * An inbox whose only event is leased by a worker whose handler never ends, as in a process that
   * dies.
   */
  async function withLeased(options: SqliteWorkerOptions = {}) {
    const opened = withBalances();
    const { handler, begun } = endlessHandler();
    await put(opened.inbox, balanceChanged("evt_1"));
    const worker = opened.inbox.work(handler, { concurrency: 1, ...options });
    await begun;
    return { ...opened, worker };
  }

  it("calls the typed handlers in the order of arrival, also for events stored before the start", async () => {
    const { inbox, recorded } = withBalances();
    const balances: number[] = [];
    for (const balance of [1, 2, 3]) await put(inbox, balanceChanged(`evt_${balance}`, balance));
    inbox.work(
      onEvents({
        "balance.changed": ({ data }) => void balances.push(data.balance),
        otherTypes: () => {},
      }),
      { concurrency: 1 },
    );
    const receivedAt = new Date(Date.now() + 2 * hourMs); // before the clock was set back
    await put(inbox, balanceChanged("evt_4", 4), { receivedAt });
    await recorded.until("done", 4);
    expect(balances).toEqual([1, 2, 3, 4]);
    const event = { id: "evt_4", type: "balance.changed" };
    expect(recorded.of("done")[3]).toMatchObject({ event, attempt: 1, lagMs: 0 });
    expect((await inbox.list()).map(({ state }) => state)).toEqual([
      "done",
      "done",
      "done",
      "done",
    ]);
  });

  // G3
  it.each([
    ["the handler fails after a call of write", "handler"],
    ["the write itself fails", "write"],
    ["the write is asynchronous, and could continue after its transaction", "async"],
    ["the write returns a function, which nothing calls", "function"],
  ])("writes nothing when %s, and retries", async (_case, where) => {
    const { inbox, recorded, effects } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((event, { attempt, write }) => {
      write(writeEffect(event, attempt));
      if (attempt > 1) return;
      if (where === "handler") throw new Error("not yet");
      if (where === "async")
        write((async () => Promise.reject(new Error("of nobody"))) as () => never);
      else if (where === "function") write(() => writeEffect(event, 9));
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
    const late = createGate<() => void>();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((_event, delivery) => late.open(() => delivery.write(() => {})));
    await recorded.until("done");
    expect(await late.opened).toThrow("write was called after the handler had ended");
  });

  // G12
  it.each([
    [{}, 90_000],
    [{ handlerTimeoutMs: 20_000 }, 50_000],
  ])(
    "with the options %o leases an event for the time of its handler and 30 seconds: %i ms",
    async (options, leaseMs) => {
      const { file } = await withLeased(options);
      // Without the time since the event was leased.
      const { inbox, clock, recorded } = openAhead(leaseMs - 2_000, { file, open });
      expect(await inbox.drain(() => {})).toMatchObject({ waiting: 1 });
      clock.aheadMs = leaseMs + 1;
      expect(await inbox.drain(() => {})).toMatchObject({ waiting: 0 });
      expect(recorded.of("done")).toMatchObject([{ attempt: 2 }]);
    },
  );

  it("leases the event of a process that died, also in one that begins after the clock was set back", async () => {
    const { file } = await withLeased();
    const { inbox, clock, recorded } = openAhead(-2 * hourMs, { file, open });
    inbox.work(() => {}, atOnce);
    await put(inbox, balanceChanged("evt_own"));
    await recorded.until("done");
    clock.aheadMs += 90_000;
    await recorded.until("done", 2);
    const done = recorded.of("done").map(({ event, attempt }) => [event.id, attempt]);
    expect(done).toEqual([
      ["evt_own", 1],
      ["evt_1", 2],
    ]);
  });

  // G12
  it("retries the event of a crashed process, and rolls back its late effect", async () => {
    const { inbox, recorded, file, effects } = withBalances();
    const [begun, goOn] = [createGate(), createGate()];
    await put(inbox, balanceChanged("evt_1"));
    inbox.work(async (event, delivery) => {
      begun.open();
      await goOn.opened;
      delivery.write(writeEffect(event, delivery.attempt));
    });
    await begun.opened;

    const later = openAhead(hourMs, { file, open }); // for this worker, the lease of the other has expired
    later.inbox.work((event, delivery) => delivery.write(writeEffect(event, delivery.attempt)));
    await later.recorded.until("done");
    goOn.open();
    await recorded.until("lease-lost");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 2 }]);
  });

  it("retries an event whose failure could not be stored, when its lease ends", async () => {
    const { inbox, clock, recorded } = openAhead(0, { open });
    await put(inbox, balanceChanged("evt_1"));
    await inbox.write((database) =>
      database.exec(
        "CREATE TRIGGER full BEFORE UPDATE OF error ON webhook_inbox_events BEGIN SELECT RAISE(ABORT, 'full'); END",
      ),
    );
    const attempts: number[] = [];
    inbox.work(
      (_event, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new Error("This failure cannot be stored.");
      },
      { handlerTimeoutMs: 1_000, pollMs: 5 },
    );
    await recorded.until("unavailable");
    await inbox.write((database) => database.exec("DROP TRIGGER full"));
    expect(attempts).toEqual([1]);
    clock.aheadMs = 31_000;
    await recorded.until("done");
    expect(recorded.of("done")).toMatchObject([{ event: { id: "evt_1" }, attempt: 2 }]);
    expect(recorded.of("failed")).toEqual([]);
  });

  // G28
  it("dead-letters an event whose last attempt crashed the process", async () => {
    const { recorded, file } = await withLeased();
    const later = openAhead(hourMs, { file, open });
    later.inbox.work(() => {}, { maxAttempts: 1 });
    await later.recorded.until("dead");
    expect([later.recorded.of("done"), recorded.of("done")]).toEqual([[], []]);
    expect(await later.inbox.list()).toMatchObject([
      {
        state: "dead",
        lastFailure: expect.stringContaining(
          "No attempt is left: the process ended during the last one",
        ),
      },
    ]);
    expect(later.recorded.of("dead")).toMatchObject([{ event: { id: "evt_1" }, attempt: 1 }]);
  });

  // G28
  it.each([
    ["ended one at a time: one of them may have ended it", "ended", 1],
    ["ended one at a time, also after another one was stopped", "ended twice", 1],
    ["was stopped together", "stopped", 4],
  ])("runs the events of a worker that %s", async (_case, how, together) => {
    const { inbox, file } = withBalances();
    const { open: openAll, opened: allBegun } = createGate();
    const ids = ["evt_1", "evt_2", "evt_3", "evt_4"];
    const begun = new Set<string>();
    for (const id of ids) await put(inbox, balanceChanged(id));
    const worker = inbox.work(({ id }) => {
      if (begun.add(id).size === ids.length) openAll();
      return new Promise(() => {});
    });
    await allBegun;
    if (how === "stopped") await worker.stop({ graceMs: 0 });
    const later = openAhead(hourMs, { file, open });
    if (how === "ended twice") {
      const { handler, begun: oneBegun } = endlessHandler();
      const stopped = later.inbox.work(handler);
      await oneBegun;
      await stopped.stop({ graceMs: 0 });
    }
    const others = ["evt_5", "evt_6", "evt_7"];
    for (const id of others) await put(inbox, balanceChanged(id));
    const running = new Set<string>();
    let most = 0;
    later.inbox.work(async ({ id }) => {
      running.add(id);
      if (ids.some((old) => running.has(old))) most = Math.max(most, running.size);
      await new Promise(setImmediate);
      running.delete(id);
    });
    await later.recorded.until("done", ids.length + others.length);
    expect(most).toBe(together);
  });

  // G28
  it("fails a handler that exceeds its timeout, and aborts its signal", async () => {
    const { inbox, recorded } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    const aborted = createGate<string>();
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

  it("releases an event whose handler does not end in the grace period, without counting the attempt", async () => {
    const { worker, file } = await withLeased();
    await worker.stop({ graceMs: 0 });
    const next = openAhead(0, { file, open });
    next.inbox.work(() => {});
    await next.recorded.until("done");
    expect(next.recorded.of("done")).toMatchObject([{ attempt: 1 }]);
  });

  it("processes soon what another process stored before it ended, when the clock was set back meanwhile", async () => {
    const file = scratchFile();
    const [before, after] = [openAhead(600_000, { file, open }), openAhead(0, { file, open })];
    await after.inbox.health(); // it opens the file before the event is stored
    await put(before.inbox, balanceChanged("evt_1"));
    await before.inbox.close();
    expect(await after.inbox.drain(() => {})).toMatchObject({ waiting: 0 });
    expect(after.recorded.of("done")).toHaveLength(1);
  });

  it("retries an event soon that failed before the clock was set back", async () => {
    const file = scratchFile();
    const [before, after] = [openAhead(0, { file, open }), openAhead(0, { file, open })];
    await put(before.inbox, balanceChanged("evt_1"));
    before.clock.aheadMs = 24 * hourMs;
    await before.inbox.drain(() => Promise.reject(new Error("The database is down.")));
    await before.inbox.close();
    await after.inbox.drain(() => {});
    after.clock.aheadMs = 2_000;
    expect(await after.inbox.drain(() => {})).toMatchObject({ waiting: 0 });
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
      const drained = inbox.drain(handler, {
        concurrency: 1,
        ...(maxMs !== undefined && { maxMs }),
      });
      await Promise.race([begun, drained]); // after 0 ms it may have ended before the handler began
      await inbox.close({ graceMs: 0 });
      await drained;
    }
  });

  it("refuses an invalid grace before it closes, and a later close shortens the grace", async () => {
    const { inbox } = await withLeased();
    for (const graceMs of [Number.POSITIVE_INFINITY, -1])
      await expect(inbox.close({ graceMs })).rejects.toThrow("graceMs must be a number from 0");
    const closed = inbox.close({ graceMs: 2 ** 31 - 1 });
    await inbox.close({ graceMs: 0 });
    await closed;
  });
});

it("increases the delay after each failure, with jitter", async () => {
  const recorded = recordOutcomes();
  const inbox = openInbox({ onOutcome: recorded.onOutcome, testing: { random: () => 0 } });
  await put(inbox, balanceChanged("evt_1"));
  inbox.work(
    () => {
      throw new Error("no");
    },
    { maxAttempts: 5, backoff: { initialDelayMs: 4, maxDelayMs: 10 } },
  );
  await recorded.until("dead");
  expect(recorded.of("failed").map(({ retryInMs }) => retryInMs)).toEqual([3, 6, 8, 8]);
});

it.each([
  [{}, 4],
  [{ concurrency: 3 }, 3],
])("runs with the options %o at most %i handlers at once", async (options, expected) => {
  const inbox = openInbox();
  for (let index = 1; index <= 6; index++) await put(inbox, balanceChanged(`evt_${index}`));
  let running = 0;
  inbox.work(
    () => {
      running += 1;
      return new Promise(() => {});
    },
    { ...options, pollMs: 5 },
  );
  await expect.poll(() => running).toBe(expected);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(running).toBe(expected);
});

it("tries an event 25 times by default, with pauses of at most an hour", async () => {
  const { inbox, clock, recorded } = openAhead(0, {});
  await put(inbox, balanceChanged("evt_1"));
  for (; recorded.of("dead").length === 0; clock.aheadMs += hourMs)
    await inbox.drain(() => Promise.reject(new Error("no")));
  expect(recorded.of("failed")).toHaveLength(24);
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
  [{ concurrency: 4.5 }, /concurrency must be an integer; it is 4\.5/],
  [{ maxAttempts: Number.NaN }, /maxAttempts must be a number/],
  [{ maxAttempts: 2.5 }, /maxAttempts must be an integer/],
  [{ pollMs: -1 }, /pollMs/],
  [{ handlerTimeoutMs: 2 ** 31 }, /handlerTimeoutMs/],
  [
    { backoff: { initialDelayMs: 10, maxDelayMs: 5 } },
    /backoff\.maxDelayMs must be a number from 10/,
  ],
])("rejects the worker options %o, and a worker without a handler", (options, message) => {
  const inbox = openInbox();
  expect(() => inbox.work(() => {}, options)).toThrow(message);
  expect(() => inbox.work(undefined as never)).toThrow("work needs a handler");
});
