/** A second delivery of an event on a SQLite file: it stores a dead letter again, and is otherwise a duplicate. */
import { describe, expect, it } from "vitest";
import type { SqliteHandler } from "../../src/index.ts";
import { balanceChanged, put, toBody } from "../events.ts";
import { recordOutcomes } from "../outcomes.ts";
import { engines, openInbox, scratchFile } from "../sqlite-files.ts";

const maxAttempts = 2;
const options = { maxAttempts, backoff: { initialDelayMs: 0, maxDelayMs: 0 }, pollMs: 5 };

describe.each(engines)("with %s", (_name, open) => {
  /** An inbox in which `evt_dead` is a dead letter and `evt_done` is done. */
  async function withDeadLetter(file = scratchFile()) {
    const recorded = recordOutcomes();
    const inbox = openInbox({ file, open, onOutcome: recorded.onOutcome });
    await put(inbox, balanceChanged("evt_dead"));
    await put(inbox, balanceChanged("evt_done"));
    const worker = inbox.work(({ id }) => {
      if (id === "evt_dead") throw new Error("The shop's own system is down.");
    }, options);
    await Promise.all([recorded.until("dead"), recorded.until("done")]);
    await worker.stop();
    return { inbox, recorded, file };
  }

  it("stores a dead letter again with all attempts, and the body and time of the new delivery", async () => {
    const { inbox } = await withDeadLetter();
    const receivedAt = new Date("2026-01-01T00:00:00.000Z");
    const resent = balanceChanged("evt_dead", 7);
    const { signal } = new AbortController();
    expect(await inbox.put(resent, { body: toBody(resent), receivedAt }, { signal })).toBe("stored");
    expect(await inbox.list({ state: "waiting" })).toEqual([
      { id: "evt_dead", type: "balance.changed", state: "waiting", receivedAt, attempts: 0 },
    ]);
    expect(await inbox.health()).toMatchObject({ waiting: 1, dead: 0 });
    const handled: unknown[] = [];
    await new Promise<void>((resolve) => {
      const handler: SqliteHandler = (event, delivery) => {
        handled.push([event.data, delivery.attempt, delivery.receivedAt]);
        if (delivery.attempt < maxAttempts) throw new Error("not yet");
        resolve();
      };
      inbox.work(handler, options);
    });
    expect(handled).toEqual([
      [resent.data, 1, receivedAt],
      [resent.data, 2, receivedAt],
    ]);
  });

  it("dead-letters an event that was stored again only after all attempts", async () => {
    const { inbox, recorded } = await withDeadLetter();
    expect(await put(inbox, balanceChanged("evt_dead"))).toBe("stored");
    inbox.work(() => {
      throw new Error("still down");
    }, options);
    await recorded.until("dead", 2);
    expect(recorded.of("dead").map(({ attempt }) => attempt)).toEqual([2, 2]);
    expect(recorded.of("failed").map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it("treats an event that is waiting or done as a duplicate", async () => {
    const { inbox } = await withDeadLetter();
    await put(inbox, balanceChanged("evt_waiting"));
    expect(await put(inbox, balanceChanged("evt_waiting"))).toBe("duplicate");
    expect(await put(inbox, balanceChanged("evt_done"))).toBe("duplicate");
    expect(await inbox.list({ state: "done" })).toMatchObject([{ id: "evt_done", attempts: 1 }]);
  });

  it("stores a dead letter again once when one transaction contains it several times", async () => {
    const { inbox } = await withDeadLetter();
    const ids = ["evt_dead", "evt_1", "evt_dead", "evt_done", "evt_dead"];
    expect(await Promise.all(ids.map((id) => put(inbox, balanceChanged(id))))).toEqual([
      "stored",
      "stored",
      "duplicate",
      "duplicate",
      "duplicate",
    ]);
  });

  it("stores a dead letter again once when several inboxes on the file store it concurrently", async () => {
    const { file } = await withDeadLetter();
    const inboxes = Array.from({ length: 4 }, () => openInbox({ file, open }));
    const results = await Promise.all(
      inboxes.flatMap((inbox) => Array.from({ length: 10 }, () => put(inbox, balanceChanged("evt_dead")))),
    );
    expect(results.filter((result) => result === "stored")).toHaveLength(1);
  });

  it("processes an event that was stored again in a worker of another process", async () => {
    const { inbox, file } = await withDeadLetter();
    const other = recordOutcomes();
    openInbox({ file, open, onOutcome: other.onOutcome }).work(() => {}, options);
    expect(await put(inbox, balanceChanged("evt_dead"))).toBe("stored");
    await other.until("done");
    expect(other.of("done")).toMatchObject([{ event: { id: "evt_dead" }, attempt: 1 }]);
    expect(await put(inbox, balanceChanged("evt_dead"))).toBe("duplicate");
  });

  it("gives a replayed dead letter all attempts", async () => {
    const { inbox, recorded } = await withDeadLetter();
    expect(await inbox.replay("evt_dead")).toBe(true);
    inbox.work(() => {
      throw new Error("still down");
    }, options);
    await recorded.until("dead", 2);
    expect(recorded.of("dead").map(({ attempt }) => attempt)).toEqual([2, 2]);
  });
});
