/** The SQLite inbox: stores each event once and durably, and loses none. */
import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { losesWals, loseWal } from "@loyalty-cards/testing/sqlite-files";
import { createVirtualClock } from "@loyalty-cards/testing/virtual-clock";
import { createReceiver, signWebhookSync } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openLibsql, type SqliteHandler, type SqliteInbox, sqliteInbox } from "../../src/index.ts";
import { isNewest, markProcessed, type SqliteDatabase } from "../../src/sqlite/processed.ts";
import { describeInbox } from "../inbox-contract.ts";
import {
  balanceChanged,
  engines,
  openAhead,
  openInbox,
  put,
  recordOutcomes,
  toBody,
} from "../inboxes.ts";

describe.each(engines)("with %s", (name, open) => {
  describeInbox(name, async ({ attempts, onOutcome, retentionSeconds }) => {
    const file = scratchFile();
    const openSource = async (source: string) => {
      const retention = retentionSeconds === undefined ? {} : { retentionSeconds };
      const inbox = openInbox({ file, open, onOutcome, source, ...retention });
      return {
        inbox,
        async count() {
          const { waiting, dead } = await inbox.health();
          return { waiting, dead };
        },
        async work(handler: SqliteHandler) {
          const backoff = { initialDelayMs: 0, maxDelayMs: 0 };
          inbox.work(handler, { maxAttempts: attempts, backoff, pollMs: 5 });
        },
      };
    };
    return { ...(await openSource("")), openSource };
  });

  it("lists at most the requested number of events, oldest first, and reports how long the oldest has waited", async () => {
    const inbox = openInbox({ open });
    for (const id of ["evt_1", "evt_2", "evt_3"]) await put(inbox, balanceChanged(id));
    const ids = (await inbox.list({ state: "waiting", limit: 2 })).map(({ id }) => id);
    expect(ids).toEqual(["evt_1", "evt_2"]);
    expect(await inbox.list({ state: "done" })).toEqual([]);
    expect(await inbox.health()).toEqual({
      isReachable: true,
      waiting: 3,
      dead: 0,
      oldestWaitingMs: expect.any(Number),
    });
  });

  it("lists the state and the attempts of an event, which begin anew when a dead letter is delivered again", async () => {
    const inbox = openInbox({ open });
    const options = { maxAttempts: 2, pollMs: 5, backoff: { initialDelayMs: 0, maxDelayMs: 0 } };
    await put(inbox, balanceChanged("evt_dead"));
    await put(inbox, balanceChanged("evt_done"));
    let isFailing = true;
    inbox.work(({ id }) => {
      if (isFailing && id === "evt_dead") throw new RangeError("Anna's card is unknown");
    }, options);
    const lastFailure = expect.stringMatching(/^RangeError at /); // without the message
    await expect
      .poll(() => inbox.list())
      .toMatchObject([
        { id: "evt_dead", type: "balance.changed", state: "dead", attempts: 2, lastFailure },
        { id: "evt_done", type: "balance.changed", state: "done", attempts: 1 },
      ]);
    expect(JSON.stringify(await inbox.list())).not.toContain("Anna");
    isFailing = false;
    await put(inbox, balanceChanged("evt_dead"));
    await expect
      .poll(() => inbox.list())
      .toMatchObject([
        { id: "evt_done", state: "done", attempts: 1 },
        { id: "evt_dead", state: "done", attempts: 1 },
      ]);
  });

  // G28
  it.each([
    ["body", "UPDATE webhook_inbox_events_bodies SET body = substr(body, 1, 40) WHERE id = 1"],
    ["time", "UPDATE webhook_inbox_events_bodies SET body = 'x' || body WHERE id = 1"],
    ["error", "UPDATE webhook_inbox_events SET error = '{' WHERE id = 1"],
    ["missing body", "DELETE FROM webhook_inbox_events_bodies WHERE id = 1"],
  ])("lists and processes the other events when a row is damaged: its %s", async (what, damage) => {
    const recorded = recordOutcomes();
    const inbox = openInbox({ open, onOutcome: recorded.onOutcome });
    for (const id of ["evt_1", "evt_2"]) await put(inbox, balanceChanged(id));
    await inbox.write((own) => own.exec(damage));
    expect((await inbox.list()).map(({ id }) => id)).toEqual(["evt_1", "evt_2"]);
    const handled: string[] = [];
    const health = await inbox.drain(({ id }) => void handled.push(id));
    if (what === "error") return expect(handled).toEqual(["evt_1", "evt_2"]);
    expect(handled).toEqual(["evt_2"]);
    expect(health).toMatchObject({ isReachable: true, waiting: 0, dead: 1 });
    expect(recorded.of("dead")).toMatchObject([{ event: { id: "evt_1", type: "" }, attempt: 1 }]);
    const lastFailure = expect.stringContaining("The stored event is damaged.");
    expect(await inbox.list({ state: "dead" })).toMatchObject([
      { id: "evt_1", type: "", receivedAt: expect.any(Date), attempts: 1, lastFailure },
    ]);
    await put(inbox, balanceChanged("evt_1")); // a new delivery has the whole event
    await inbox.drain(({ id }) => void handled.push(id));
    expect(handled).toEqual(["evt_2", "evt_1"]);
  });

  it("leaves no deleted body in its files after a sweep, and after it was closed", async () => {
    const file = scratchFile();
    const { inbox, clock } = openAhead(0, { file, open, retentionSeconds: 9 * 3_600 });
    await inbox.write(() => {});
    const reader = open(file); // otherwise SQLite deletes the log at the end
    onTestFinished(() => void reader.close());
    reader.prepare("SELECT * FROM sqlite_master").all();
    const hasBody = () =>
      ["", "-wal"].some((suffix) => readFileSync(`${file}${suffix}`).includes("cus_1"));
    await put(inbox, balanceChanged("evt_1"));
    await inbox.drain(() => {});
    expect(hasBody()).toBe(true);
    clock.aheadMs = 10 * 3_600_000;
    await inbox.drain(() => {});
    expect(await inbox.list()).toEqual([]);
    expect(hasBody()).toBe(false);
    await put(inbox, balanceChanged("evt_2"));
    await inbox.write((own) => own.exec("DELETE FROM webhook_inbox_events_bodies"));
    expect(hasBody()).toBe(true);
    await inbox.close();
    expect(hasBody()).toBe(false);
  });

  it.skipIf(!losesWals)("stores nothing after another process deleted the log", async () => {
    const recorded = recordOutcomes();
    const file = scratchFile();
    // It is not closed at the end of the test.
    const inbox = sqliteInbox({ file, open, log: () => {}, onOutcome: recorded.onOutcome });
    await put(inbox, balanceChanged("evt_1"));
    loseWal(file);
    await expect(put(inbox, balanceChanged("evt_2"))).rejects.toThrow("End it with SIGKILL");
    expect(recorded.of("not-stored")).toHaveLength(1);
    expect(await inbox.health()).toMatchObject({ isReachable: false });
    await expect(inbox.close()).rejects.toThrow("End it with SIGKILL");
    expect((await openInbox({ file, open }).list()).map(({ id }) => id)).toEqual(["evt_1"]);
  });

  it("logs that events wait and nobody processes them, once in ten minutes", async () => {
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const clock = createVirtualClock();
    const inbox = openInbox({ open, log, testing: { clock } });
    const minuteMs = 60_000;
    const putAfter = async (ms: number) => {
      await clock.pass(ms);
      await put(inbox, balanceChanged(`evt_${clock.now()}`));
      return lines.splice(0);
    };
    const line = (waiting: number) =>
      `webhook-inbox: ${waiting} events wait, and nobody processes them: call inbox.work(handler) in a process that runs, or inbox.drain(handler) from cron.`;
    expect(await putAfter(0)).toEqual([]);
    expect(await putAfter(minuteMs / 2)).toEqual([]);
    expect(await putAfter(minuteMs / 2)).toEqual([line(3)]);
    expect(await putAfter(9 * minuteMs)).toEqual([]);
    expect(await putAfter(minuteMs)).toEqual([line(5)]);
    // A drain each hour has enough time.
    await clock.run(inbox.drain(() => {}));
    expect(await putAfter(minuteMs)).toEqual([]);
    expect(await putAfter(60 * minuteMs)).toEqual([]);
    await clock.run(inbox.drain(() => {}));
    expect(await putAfter(120 * minuteMs)).toEqual([]);
    expect(await putAfter(65 * minuteMs)).toEqual([line(2)]);
    // With a worker in this process nothing is missing.
    const workerOptions = { handlerTimeoutMs: 120 * minuteMs, pollMs: 65 * minuteMs };
    inbox.work(() => new Promise(() => {}), workerOptions);
    expect(await putAfter(65 * minuteMs)).toEqual([]);
    await clock.run(inbox.close({ graceMs: 0 }));
  });

  it("logs it a minute after put, also when nothing is called until then", async () => {
    const lines: string[] = [];
    const clock = createVirtualClock();
    const inbox = openInbox({ open, log: (line) => lines.push(line), testing: { clock } });
    for (const id of ["evt_1", "evt_2"]) await put(inbox, balanceChanged(id));
    await clock.pass(59_000);
    expect(lines).toEqual([]);
    await clock.pass(10_000);
    expect(lines).toEqual([expect.stringContaining("2 events wait, and nobody processes them")]);

    const closed = openInbox({ open, log: (line) => lines.push(line), testing: { clock } });
    await put(closed, balanceChanged("evt_1"));
    await closed.close();
    await clock.pass(120_000);
    expect(lines).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("logs it as soon when the events of another source are processed", async () => {
    const lines: string[] = [];
    const clock = createVirtualClock();
    const file = scratchFile();
    const processed = openInbox({ file, open, source: "tea", testing: { clock } });
    await put(processed, balanceChanged("evt_1"));
    await clock.run(processed.drain(() => {}));
    const log = (line: string) => lines.push(line);
    const inbox = openInbox({ file, open, source: "coffee", log, testing: { clock } });
    await put(inbox, balanceChanged("evt_1"));
    await clock.pass(70_000);
    expect(lines).toEqual([expect.stringContaining("1 events wait, and nobody processes them")]);
  });

  it.each(["stored", "processed"])(
    "logs once that two services share it: another content under the id of a %s event",
    async (state) => {
      const lines: string[] = [];
      const { inbox } = openAhead(0, { open, log: (line) => lines.push(line) });
      const event = balanceChanged("evt_1");
      expect(await put(inbox, event)).toBe("stored");
      if (state === "processed") await inbox.drain(() => {});
      expect(await put(inbox, event)).toBe("duplicate");
      expect(lines).toEqual([]);
      const other = { ...event, createdAt: "2026-03-02T12:00:00.000Z" };
      expect(await put(inbox, other)).toBe("duplicate");
      expect(await put(inbox, other)).toBe("duplicate");
      expect(lines).toEqual([
        "webhook-inbox: an event has the id of another one and other content, so it counts as its duplicate: give the inbox of each service its own source.",
      ]);
    },
  );

  it("processes, lists, counts and replays the events of its own source only", async () => {
    const file = scratchFile();
    const [coffee, tea] = ["coffee", "tea"].map((source) => openInbox({ file, open, source }));
    if (coffee === undefined || tea === undefined) throw new Error("unreachable");
    await put(coffee, balanceChanged("evt_1"));
    await put(tea, balanceChanged("evt_2"));
    const fail = () => Promise.reject(new Error("The handler failed."));
    expect(await coffee.drain(fail, { maxAttempts: 1 })).toMatchObject({ waiting: 0, dead: 1 });
    expect(await tea.health()).toMatchObject({ waiting: 1, dead: 0 });
    expect(await tea.list()).toMatchObject([{ id: "evt_2", state: "waiting" }]);
    expect(await tea.replay("evt_1")).toBe(false);
    expect(await coffee.replay("evt_1")).toBe(true);
    expect(await openInbox({ file, open }).health()).toMatchObject({ waiting: 0, dead: 0 });
  });

  it("closes at the end of a block, and so does its worker", async () => {
    const file = scratchFile();
    let kept: SqliteInbox | undefined;
    {
      await using inbox = sqliteInbox({ file, open, log: () => {} });
      await using _worker = inbox.work(() => {});
      kept = inbox;
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
    }
    expect(await kept?.health()).toMatchObject({ isReachable: false });
    expect(await openInbox({ file, open }).health()).toMatchObject({ isReachable: true });
  });

  it("drains what is due, and leaves what failed for a later call", async () => {
    const nowMs = Date.now();
    const clock = { now: () => nowMs }; // however long it takes, the failed one is not due yet
    const inbox = openInbox({ open, testing: { clock } });
    for (let number = 1; number <= 30; number++) await put(inbox, balanceChanged(`evt_${number}`));
    const handled: string[] = [];
    const handle = ({ id }: { id: string }) => {
      if (id === "evt_7") throw new Error("The handler failed.");
      handled.push(id);
    };
    expect(await inbox.drain(handle)).toMatchObject({ isReachable: true, waiting: 1, dead: 0 });
    expect(new Set(handled).size).toBe(29);
    expect(await inbox.list({ state: "waiting" })).toMatchObject([{ id: "evt_7", attempts: 1 }]);
    expect(await inbox.drain(handle)).toMatchObject({ waiting: 1 }); // not due yet
    expect(handled).toHaveLength(29);
  });

  it("reads the date of fake timers that begin after the import", async () => {
    const inbox = openInbox({ open });
    await put(inbox, balanceChanged("evt_1"));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect((await inbox.health()).oldestWaitingMs).toBeGreaterThanOrEqual(60_000);
  });

  it("takes no further event after maxMs, and waits for the running handlers", async () => {
    const clock = createVirtualClock();
    const inbox = openInbox({ open, testing: { clock } });
    for (const id of ["evt_1", "evt_2"]) await put(inbox, balanceChanged(id));
    const started: string[] = [];
    const left = await clock.run(
      inbox.drain(
        async ({ id }, { signal }) => {
          started.push(id);
          await clock.wait(1_100);
          signal.throwIfAborted();
        },
        { concurrency: 1, maxMs: 1_000 },
      ),
    );
    expect(left).toMatchObject({ waiting: 1, dead: 0 });
    expect(started).toEqual(["evt_1"]);
    await expect(inbox.drain(() => {}, { maxMs: -1 })).rejects.toThrow(
      "maxMs must be a number from 0",
    );
  });

  it("opens its file at first use, for its owner only, and commits to the disk with a write-ahead log", async () => {
    const file = scratchFile();
    let database: SqliteDatabase | undefined;
    const inbox = openInbox({
      file,
      open: (path) => {
        const opened = open(path);
        database = opened;
        return opened;
      },
    });
    await openInbox({ file, open }).close(); // without being used
    expect([database, existsSync(file)]).toEqual([undefined, false]);
    await put(inbox, balanceChanged("evt_1"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.values(database?.prepare("PRAGMA journal_mode").get() as object)[0]).toBe("wal");
    expect(Object.values(database?.prepare("PRAGMA synchronous").get() as object)[0]).toBe(2); // FULL
    expect(Object.values(database?.prepare("PRAGMA temp_store").get() as object)[0]).toBe(2); // MEMORY
  });

  it("opens the file of an inbox while another connection of the process has a transaction", async () => {
    const file = scratchFile();
    const first = openInbox({ file, open });
    await put(first, balanceChanged("evt_1"));
    const own = open(file);
    own.exec("BEGIN IMMEDIATE");
    expect(await openInbox({ file, open }).list()).toMatchObject([{ id: "evt_1" }]);
    own.exec("ROLLBACK");
    own.close();
  });

  it("stores and writes in the AsyncLocalStorage context of each caller, and needs no timer", async () => {
    const inbox = openInbox({ open });
    const request = new AsyncLocalStorage<string>();
    const { setTimeout: realTimeout, setImmediate: realImmediate } = globalThis;
    Object.assign(globalThis, { setTimeout: () => {}, setImmediate: () => {} }); // as vi.useFakeTimers() does
    try {
      const seen = await Promise.all(
        ["a", "b"].map((name) =>
          request.run(name, async () => [name, await inbox.write(() => request.getStore())]),
        ),
      );
      expect(seen).toEqual([
        ["a", "a"],
        ["b", "b"],
      ]);
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
    } finally {
      Object.assign(globalThis, { setTimeout: realTimeout, setImmediate: realImmediate });
    }
  });

  it("does not store an event whose signal is already aborted", async () => {
    const inbox = openInbox({ open });
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(put(inbox, balanceChanged("evt_1"), { signal })).rejects.toThrow("too late");
    expect(await inbox.list()).toEqual([]);
  });

  it("preserves the body byte for byte", async () => {
    const inbox = openInbox({ open });
    const body = new TextEncoder().encode(
      '\uFEFF{ "id":"evt_1", "type":"ping","createdAt":"2026-01-01T00:00:00.000Z", "x":"\\u00e9 é 💳" }',
    );
    const event = { id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" } as const;
    await put(inbox, event, { body });
    const [kept, x] = await new Promise<[Uint8Array, unknown]>((resolve) => {
      inbox.work((handed, delivery) => resolve([delivery.rawBody, Reflect.get(handed, "x")]));
    });
    expect([kept, x]).toEqual([body, "é é 💳"]);
  });

  it("allows application tables in the same file, and runs each write in a transaction", async () => {
    const inbox = openInbox({ open });
    await inbox.write((database) => database.exec("CREATE TABLE shop (name TEXT)"));
    const failing = inbox.write((database) => {
      database.exec("INSERT INTO shop VALUES ('half')");
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    const asynchronous = async () => Promise.reject(new Error("of nobody"));
    await expect(inbox.write(asynchronous as () => never)).rejects.toThrow(
      "inbox.write takes a synchronous function",
    );
    expect(await inbox.write((database) => database.prepare("SELECT * FROM shop").all())).toEqual(
      [],
    );
    const event = balanceChanged("evt_1");
    const responses = await inbox.write((database) => [
      markProcessed(database, event),
      isNewest(database, "card_1", event),
      isNewest(database, "card_1", event),
    ]);
    expect(responses).toEqual([true, true, false]);
  });

  it("deletes processed events after the retention, and never dead letters", async () => {
    const { onOutcome, until } = recordOutcomes();
    const file = scratchFile();
    const first = openInbox({ file, open, onOutcome });
    await put(first, balanceChanged("evt_handled"));
    await put(first, balanceChanged("evt_dead"));
    first.work(
      ({ id }) => {
        if (id === "evt_dead") throw new Error("never");
      },
      { maxAttempts: 1 },
    );
    await Promise.all([until("done"), until("dead")]);
    await first.close();

    const almost = openAhead(14 * 86_400_000 - 60_000, { file, open }).inbox;
    await almost.work(() => {}).stop();
    expect((await almost.list()).map(({ id }) => id)).toEqual(["evt_handled", "evt_dead"]);
    await almost.close();

    const later = openAhead(14 * 86_400_000 + 1_000, { file, open }).inbox;
    await later.work(() => {}).stop();
    await later.close();
    expect((await openInbox({ file, open }).list()).map(({ id }) => id)).toEqual(["evt_dead"]);
  });

  it("deletes an event with its body, or not at all", async () => {
    const { inbox, recorded } = openAhead(15 * 86_400_000, { open });
    await inbox.write((database) =>
      database.exec(
        "CREATE TRIGGER keep BEFORE DELETE ON webhook_inbox_events_bodies BEGIN SELECT RAISE(ABORT, 'kept'); END",
      ),
    );
    await put(inbox, balanceChanged("evt_1"));
    await inbox.write((database) =>
      database.exec("UPDATE webhook_inbox_events SET state = 'done', rank = NULL, ended = 0"),
    );
    inbox.work(() => {});
    await recorded.until("unavailable");
    expect((await inbox.list()).map(({ id }) => id)).toEqual(["evt_1"]);
  });

  // G24
  it("rejects tables of a newer version", async () => {
    const file = scratchFile();
    const first = openInbox({ file, open });
    await put(first, balanceChanged("evt_1"));
    await first.close();
    const database = open(file);
    database.exec(
      "INSERT INTO webhook_inbox_schema (version) VALUES (99); DROP INDEX webhook_inbox_events_ended",
    );
    const readIndexes = () =>
      database.prepare("SELECT name FROM sqlite_master WHERE type = 'index'").all();
    const indexes = readIndexes();
    const message = /version 99, .* update @loyalty-cards\/webhook-inbox/;
    await expect(put(openInbox({ file, open }), balanceChanged("evt_1"))).rejects.toThrow(message);
    expect(() => openInbox({ file, open }).work(() => {})).toThrow(message);
    expect(readIndexes()).toEqual(indexes); // the tables are those of the newer version
    database.close();
  });

  it.each<[string, () => string, RegExp]>([
    [
      "a missing folder",
      () => scratchFile("missing/inbox.db"),
      /cannot use the file ".*inbox\.db": .* Create its folder first: .*missing$/,
    ],
    [
      "a path that is a folder",
      () => {
        const file = scratchFile();
        mkdirSync(file);
        return file;
      },
      /cannot use the file/,
    ],
    [
      "a file that is not a database",
      () => {
        const file = scratchFile();
        writeFileSync(file, "These are the minutes of a meeting. ".repeat(200));
        return file;
      },
      /cannot use the file .*not a database/,
    ],
  ])("rejects %s at first use", async (_case, file, message) => {
    const inbox = openInbox({ file: file(), open });
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow(message);
    expect(await inbox.health()).toMatchObject({ isReachable: false });
    expect(() => inbox.work(() => {})).toThrow(message);
  });
});

it.each([
  [{ file: "" }, /needs a file on a disk/],
  [{ file: ":memory:" }, /needs a file on a disk/],
  [{ file: undefined as unknown as string }, /needs a file/],
  [{ file: "x.db", retentionSeconds: Number.NaN }, /retentionSeconds is NaN/],
])("rejects the options %o", (options, message) => {
  expect(() => sqliteInbox(options)).toThrow(TypeError);
  expect(() => sqliteInbox(options)).toThrow(message);
});

it("rejects calls after close", async () => {
  const inbox = openInbox();
  await inbox.close();
  await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow("The inbox is closed.");
  expect(() => inbox.work(() => {})).toThrow("The inbox is closed.");
  expect(await inbox.health()).toMatchObject({ isReachable: false, error: expect.any(String) });
  await expect(inbox.list()).rejects.toThrow("The inbox is closed.");
});

it("lets a receiver respond 204 when the event is stored, and 503 when it is not", async () => {
  const { recorded, onOutcome } = recordOutcomes();
  const inbox = openInbox({ open: openLibsql, onOutcome });
  const receive = createReceiver({ secret: "whsec_1", inbox, log: () => {} });
  const body = toBody(balanceChanged("evt_1"));
  const deliver = () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = signWebhookSync({ rawBody: body, secret: "whsec_1", timestamp });
    return receive({ method: "POST", headers: { "service-signature": signature }, rawBody: body });
  };
  expect([(await deliver()).status, (await deliver()).status]).toEqual([204, 204]);
  await inbox.close();
  expect((await deliver()).status).toBe(503);
  expect(recorded.map(({ outcome }) => outcome)).toEqual(["stored", "duplicate", "not-stored"]);
});
