/** The worker on a SQLite file: every event has its effect once, whatever fails, hangs or dies. */
import { onEvents } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SqliteInbox, SqliteWorkerOptions } from "../../src/index.ts";
import { balanceChanged, put } from "../events.ts";
import { outcomes } from "../outcomes.ts";
import { engines, openInbox, scratchFile, watched } from "../sqlite-files.ts";

const atOnce: SqliteWorkerOptions = { backoff: { firstMs: 0, mostMs: 0 }, pollMs: 5 };

/** A promise, and whoever resolves it. */
function latch<Value = void>() {
  let open: (value: Value) => void = () => {};
  const opened = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe.each(engines)("with %s", (_name, open) => {
  /** The inbox, and a table of the program's own in the same file. */
  function withBalances(file = scratchFile()) {
    const told = outcomes();
    const inbox = openInbox({ file, open, onOutcome: told.onOutcome });
    const database = open(file);
    onTestFinished(() => void database.close());
    database.exec("CREATE TABLE IF NOT EXISTS effects (event_id TEXT, attempt INTEGER)");
    const effects = () => database.prepare("SELECT event_id, attempt FROM effects ORDER BY event_id").all();
    return { inbox, told, file, effects };
  }
  const writeEffect =
    (event: { id: string }, attempt: number) =>
    (database: { prepare(sql: string): { run(...values: (string | number)[]): unknown } }) => {
      database.prepare("INSERT INTO effects VALUES (?, ?)").run(event.id, attempt);
    };

  it("hands typed events to their handlers, in the order of their arrival, also those of before the start", async () => {
    const { inbox, told } = withBalances();
    const balances: number[] = [];
    for (const balance of [1, 2, 3]) await put(inbox, balanceChanged(`evt_${balance}`, balance));
    inbox.work(
      onEvents({ "balance.changed": ({ data }) => void balances.push(data.balance), other: () => {} }),
      { concurrency: 1 },
    );
    await put(inbox, balanceChanged("evt_4", 4));
    await told.until("done", 4);
    expect(balances).toEqual([1, 2, 3, 4]);
    expect(told.of("done")[3]).toMatchObject({ event: { id: "evt_4", type: "balance.changed" }, attempt: 1 });
    expect((await inbox.list()).map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
  });

  it("runs no more handlers at once than it may", async () => {
    const { inbox, told } = withBalances();
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
    await told.until("done", 20);
    expect(most).toBe(3);
  });

  it("writes the effect and the end of the event in one transaction", async () => {
    const { inbox, told, effects } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((event, delivery) => delivery.write(writeEffect(event, delivery.attempt)));
    await told.until("done");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 1 }]);
  });

  it.each([
    ["the handler fails after it asked for a write", "handler"],
    ["the write itself fails", "write"],
    ["the write is asynchronous, and would outlive its transaction", "async"],
  ])("writes nothing when %s, and tries again", async (_case, where) => {
    const { inbox, told, effects } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((event, { attempt, write }) => {
      write(writeEffect(event, attempt));
      if (attempt > 1) return;
      if (where === "handler") throw new Error("not yet");
      if (where === "async") write((async () => {}) as () => void);
      else
        write(() => {
          throw new Error("not yet");
        });
    }, atOnce);
    await told.until("done");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 2 }]);
    expect(told.of("failed")).toMatchObject([{ attempt: 1, retryInMs: 0 }]);
  });

  it("refuses a write after the handler's end", async () => {
    const { inbox, told } = withBalances();
    const late = latch<() => void>();
    await put(inbox, balanceChanged("evt_1"));
    inbox.work((_event, delivery) => late.open(() => delivery.write(() => {})));
    await told.until("done");
    expect(await late.opened).toThrow("write was called after the handler had ended");
  });

  it("makes a dead letter of poison, leaves the others alone, and replays it", async () => {
    const { inbox, told } = withBalances();
    let isPoisonous = true;
    for (const id of ["evt_1", "evt_poison", "evt_2"]) await put(inbox, balanceChanged(id));
    inbox.work(
      ({ id }) => {
        if (id === "evt_poison" && isPoisonous) throw new RangeError("Anna's card is unknown");
      },
      { ...atOnce, maxAttempts: 3, concurrency: 1 },
    );
    await told.until("dead");
    await told.until("done", 2);
    const [letter] = await inbox.list({ state: "dead" });
    expect(letter).toMatchObject({
      id: "evt_poison",
      attempts: 3,
      lastFailure: expect.stringMatching(/^RangeError at /),
    });
    expect(JSON.stringify(letter)).not.toContain("Anna");
    expect(await inbox.health()).toMatchObject({ waiting: 0, dead: 1 });
    expect(told.of("failed").map(({ attempt }) => attempt)).toEqual([1, 2]);

    isPoisonous = false;
    expect(await inbox.replay("evt_poison")).toBe(true);
    expect(await inbox.replay("evt_1")).toBe(false);
    await told.until("done", 3);
    expect(told.of("done")[2]).toMatchObject({ event: { id: "evt_poison" }, attempt: 1 });
  });

  it("takes over what a process held when it died, and keeps the late one's effect out", async () => {
    const { inbox, told, file, effects } = withBalances();
    const [begun, goOn] = [latch(), latch()];
    await put(inbox, balanceChanged("evt_1"));
    inbox.work(async (event, delivery) => {
      begun.open();
      await goOn.opened;
      delivery.write(writeEffect(event, delivery.attempt));
    });
    await begun.opened;

    // For this one the other's lease has run out long ago.
    const later = outcomes();
    const other = openInbox({ file, open, onOutcome: later.onOutcome, now: () => Date.now() + 3_600_000 });
    other.work((event, delivery) => delivery.write(writeEffect(event, delivery.attempt)));
    await later.until("done");
    goOn.open();
    await told.until("lease-lost");
    expect(effects()).toMatchObject([{ event_id: "evt_1", attempt: 2 }]);
  });

  it("buries what ended its process in the last attempt", async () => {
    const { inbox, told, file } = withBalances();
    await put(inbox, balanceChanged("evt_1"));
    const begun = latch();
    inbox.work(() => {
      begun.open();
      return new Promise(() => {});
    });
    await begun.opened;
    const later = outcomes();
    const other = openInbox({ file, open, onOutcome: later.onOutcome, now: () => Date.now() + 3_600_000 });
    other.work(() => {}, { maxAttempts: 1 });
    await later.until("dead");
    expect([later.of("done"), told.of("done")]).toEqual([[], []]);
    expect(later.of("dead")).toMatchObject([{ event: { id: "evt_1" }, attempt: 1 }]);
  });

  it("keeps the lease of a handler that takes longer than one", async () => {
    const { told, file } = withBalances();
    const [begun, goOn, renewed] = [latch(), latch(), latch()];
    let renewals = 0;
    const inbox = openInbox({
      file,
      onOutcome: told.onOutcome,
      open: watched(open, (sql) => {
        if (!/SET due_at = \? WHERE id = \? AND lease = \?/.test(sql)) return;
        renewals += 1;
        if (renewals === 4) renewed.open(); // four thirds of a lease
      }),
    });
    await put(inbox, balanceChanged("evt_1"));
    inbox.work(
      async () => {
        begun.open();
        await goOn.opened;
      },
      { leaseMs: 300 },
    );
    await begun.opened;
    const others: string[] = [];
    openInbox({ file, open }).work(({ id }) => void others.push(id), { pollMs: 5 });
    await renewed.opened;
    goOn.open();
    await told.until("done");
    expect(others).toEqual([]);
  });

  it("gives a handler up that takes too long, and aborts its signal", async () => {
    const { inbox, told } = withBalances();
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
    await told.until("done");
    expect(await aborted.opened).toContain("longer than 20 ms");
    expect(told.of("done")).toMatchObject([{ attempt: 2 }]);
  });

  it("stops when its handlers have ended, and takes nothing new", async () => {
    const { inbox, told } = withBalances();
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
    expect(told.of("done")).toMatchObject([{ event: { id: "evt_1" } }]);
    expect((await inbox.list({ state: "waiting" })).map(({ id }) => id)).toEqual(["evt_2"]);
  });

  it("gives back what does not end in time, at once and without counting the attempt", async () => {
    const { inbox, file } = withBalances();
    const begun = latch();
    await put(inbox, balanceChanged("evt_1"));
    const worker = inbox.work(() => {
      begun.open();
      return new Promise(() => {});
    });
    await begun.opened;
    await worker.stop({ graceMs: 0 });
    const next = outcomes();
    openInbox({ file, open, onOutcome: next.onOutcome }).work(() => {});
    await next.until("done");
    expect(next.of("done")).toMatchObject([{ attempt: 1 }]);
  });
});

it("waits longer after each failure, never in step with others", async () => {
  const told = outcomes();
  const inbox: SqliteInbox = openInbox({ onOutcome: told.onOutcome, random: () => 0 });
  await put(inbox, balanceChanged("evt_1"));
  inbox.work(
    () => {
      throw new Error("no");
    },
    { maxAttempts: 5, backoff: { firstMs: 4, mostMs: 10 } },
  );
  await told.until("dead");
  expect(told.of("failed").map(({ retryInMs }) => retryInMs)).toEqual([2, 4, 5, 5]);
});

it("says in the log what failed and where, and not what the error said", async () => {
  const lines: string[] = [];
  const told = outcomes();
  const inbox = openInbox({ onOutcome: told.onOutcome, log: (line) => void lines.push(line) });
  await put(inbox, balanceChanged("evt_1"));
  inbox.work(
    () => {
      throw new RangeError("anna@example.com");
    },
    { maxAttempts: 1 },
  );
  await told.until("dead");
  expect(lines).toEqual([
    expect.stringMatching(
      /^webhook-inbox: balance\.changed evt_1 is a dead letter after attempt 1: RangeError at /,
    ),
  ]);
});

it("outlives a listener that throws", async () => {
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
  [{ leaseMs: 5 }, /leaseMs/],
  [{ pollMs: -1 }, /pollMs/],
  [{ handlerTimeoutMs: 2 ** 31 }, /handlerTimeoutMs/],
  [{ backoff: { firstMs: 10, mostMs: 5 } }, /backoff\.mostMs must be a number from 10/],
])("refuses the worker's options %o", (options, message) => {
  expect(() => openInbox().work(() => {}, options)).toThrow(message);
});

it("refuses to work without a handler", () => {
  expect(() => openInbox().work(undefined as never)).toThrow("work needs a handler");
});
