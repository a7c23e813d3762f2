/** Callbacks: in the transaction that records the state, repeated without another request. */
import type { OpenSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { expect, it } from "vitest";
import { openVirtualShop, openWithoutSync, toEntries } from "./shop.ts";

const minute = 60_000;

// G2
it("records the card without a callback that throws, and repeats the callback until it succeeds", async () => {
  let calls = 0;
  const { outbox, run, clock, signUp, requests, names, getUserCard } = openVirtualShop({
    onIssued: ({ userId, cardId }, database) => {
      database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
      if (++calls <= 10) throw new Error("The callback fails.");
    },
  });
  await run(signUp("1"));
  expect(await run(outbox.issue(1))).toMatchObject({ state: "issued", isDelivered: false });
  expect(getUserCard("1")).toBeNull(); // rolled back with its transaction
  expect(await outbox.count()).toMatchObject({ issued: 1, undelivered: 1 });
  const worker = outbox.work({ pollMs: 30_000 });
  await clock.pass(120 * minute);
  await run(worker.stop());
  expect(await outbox.get(1)).toMatchObject({ isDelivered: true });
  expect(getUserCard("1")).not.toBeNull();
  expect(requests).toHaveLength(1);
  expect(calls).toBe(11);
  expect(names().filter((name) => name === "not-delivered")).toHaveLength(10);
  expect(names().at(-1)).toBe("delivered");
});

it("reports an error of the database before the callback as that, and calls the callback later", async () => {
  let isFailing = true;
  const open: OpenSqlite = (file) => {
    const connection = openWithoutSync(file);
    const prepare = connection.prepare.bind(connection);
    connection.prepare = (sql) => {
      if (!isFailing || !sql.includes("SET state = ?")) return prepare(sql);
      isFailing = false;
      throw new Error("disk I/O error");
    };
    return connection;
  };
  let calls = 0;
  const onIssued = () => (calls += 1);
  const { outbox, run, signUp, names, requests } = openVirtualShop({ open, onIssued });
  await run(signUp("1"));
  expect(await run(outbox.issue(1))).toMatchObject({ state: "issued", isDelivered: false });
  expect(names()).toEqual(["issued", "unavailable"]);
  expect(await run(outbox.drain())).toMatchObject({ issued: 1, undelivered: 0 });
  expect(names()).toEqual(["issued", "unavailable", "delivered"]);
  expect(requests).toHaveLength(1);
  expect(calls).toBe(1);
});

it("reports a card that the database does not record, and asks for it again when the lease has ended", async () => {
  let isFailing = false;
  const open: OpenSqlite = (file) => {
    const connection = openWithoutSync(file);
    const exec = connection.exec.bind(connection);
    connection.exec = (sql) => {
      if (isFailing && sql.startsWith("BEGIN")) throw new Error("disk I/O error");
      return exec(sql);
    };
    return connection;
  };
  const { outbox, run, clock, signUp, weather, outcomes, cards } = openVirtualShop({ open });
  await run(signUp("1"));
  weather.push(async () => {
    isFailing = true;
    return "ok";
  });
  expect(await run(outbox.issue(1))).toMatchObject({ state: "waiting", attempts: 1 });
  const error = expect.objectContaining({ message: "disk I/O error" });
  expect(outcomes).toEqual([{ outcome: "unavailable", error }]);
  isFailing = false;
  await clock.pass(60_000);
  expect(await run(outbox.drain())).toMatchObject({ issued: 1 });
  expect(cards.map(({ cardId }) => cardId)).toEqual([cards[0]?.cardId, cards[0]?.cardId]);
});

it("records the card without a callback whose constraint fails at the commit", async () => {
  const { outbox, run, signUp, database, outcomes, requests } = openVirtualShop({
    onIssued: (_entry, own) => own.prepare("INSERT INTO owners VALUES ('nobody')").run(),
  });
  const reference = "REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED";
  database.exec(`CREATE TABLE owners (id TEXT ${reference})`);
  await run(signUp("1"));
  expect(await run(outbox.issue(1))).toMatchObject({ state: "issued", isDelivered: false });
  const error = { message: expect.stringContaining("FOREIGN KEY") };
  expect(outcomes.at(-1)).toMatchObject({ outcome: "not-delivered", error });
  expect(requests).toHaveLength(1);
});

it("reports when a callback that failed is due", async () => {
  const fail = () => {
    throw new Error("The callback fails.");
  };
  const { outbox, run, weather, clock, signUp, database, outcomes, lines } = openVirtualShop({
    onIssued: fail,
    onRejected: fail,
  });
  const getDueInMs = (userId: string) => {
    const select = database.prepare("SELECT due FROM issuing_outbox_entries WHERE name = ?");
    return Number((select.get(userId) as { due: number }).due) - clock.now();
  };
  await run(signUp("1"));
  await run(outbox.issue(1));
  expect(outcomes.at(-1)).toMatchObject({ outcome: "not-delivered", retryInMs: getDueInMs("1") });
  await run(signUp("2"));
  weather.push(422);
  await run(outbox.issue(2));
  expect(outcomes.at(-1)).toMatchObject({ outcome: "not-delivered", retryInMs: getDueInMs("2") });
  expect(getDueInMs("2")).toBe(875); // 1 000 ms with half of the jitter
  const place = /Error at packages\/issuing-outbox\/test\/callbacks\.test\.ts:\d+:\d+ /;
  for (const name of ["onIssued", "onRejected"]) {
    expect(lines.shift()).toMatch(RegExp(`^issuing-outbox: ${name} failed; .* ${place.source}`));
  }
});

it("records the cards of a list when the callback of one throws, and delivers each of the others once", async () => {
  const delivered: string[] = [];
  const { outbox, run, database, names } = openVirtualShop({
    onIssued: ({ userId, cardId }, own) => {
      own.prepare("INSERT INTO users (id, card) VALUES (?, ?)").run(userId, cardId);
      if (userId === "7" && !delivered.includes("7")) {
        delivered.push("7");
        throw new Error("The callback fails.");
      }
    },
  });
  const list = toEntries(60);
  await run(outbox.addAll(list));
  expect(await run(outbox.drain())).toMatchObject({ issued: 60, undelivered: 0 });
  expect(database.prepare("SELECT count(card) AS cards FROM users").get()).toMatchObject({
    cards: 60,
  });
  expect(names().filter((name) => name === "issued")).toHaveLength(60);
});

it("records the other cards when a callback ends their transaction", async () => {
  const { outbox, run, database, getUserCard } = openVirtualShop({
    onIssued: ({ userId, cardId }, own) => {
      own
        .prepare(`INSERT OR ${userId === "7" ? "ROLLBACK" : "ABORT"} INTO users VALUES (?, ?)`)
        .run(userId, cardId);
    },
  });
  database.exec("INSERT INTO users VALUES ('7', NULL)");
  const list = toEntries(20);
  await run(outbox.addAll(list));
  const drained = outbox.drain({ maxMs: 5_000 });
  expect(await run(drained)).toMatchObject({ issued: 20, undelivered: 1 });
  expect(list.filter(({ userId }) => getUserCard(String(userId)) === null)).toHaveLength(1);
});

it("does not store an id of a card that no database takes", async () => {
  const { outbox, run, weather, signUp } = openVirtualShop();
  await run(signUp("1"));
  for (const id of ["card_\0", "card_\ud800", "c".repeat(256)])
    weather.push(
      new Response(
        JSON.stringify({ id, publicUrl: "https://cards.example.com/1", status: "active" }),
        {
          status: 201,
          headers: { "content-type": "application/json" },
        },
      ),
    );
  const entry = await run(outbox.issue(1, { deadlineMs: 100 }));
  expect(entry).toMatchObject({ state: "waiting", error: { code: "invalid-response" } });
  expect(await outbox.count()).toMatchObject({ paused: [] });
  expect(await run(outbox.drain())).toMatchObject({ issued: 1 });
});

it.each<[string, () => unknown, string]>([
  ["a promise, whose work would not be in the transaction", async () => {}, "takes a synchronous"],
  ["a function, which nothing calls", () => () => {}, "returned a function"],
])("refuses a callback that returns %s", async (_what, onIssued, message) => {
  const { outbox, run, signUp, outcomes, lines } = openVirtualShop({ onIssued });
  await run(signUp("1"));
  expect(await run(outbox.issue(1))).toMatchObject({ state: "issued", isDelivered: false });
  const error = { message: expect.stringContaining(`onIssued ${message}`) };
  expect(outcomes[1]).toMatchObject({ outcome: "not-delivered", error });
  expect(lines[0]).toMatch(/due again in 1 s\. This process runs no worker: .* calls it then:/);
});

it("records the cards of a batch although one of its callbacks ended the transaction", async () => {
  const { outbox, run, signUp, outcomes, getUserCard } = openVirtualShop({
    onIssued: ({ userId, cardId }, database) => {
      database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
      if (userId !== "1") return;
      expect(() => database.exec("INSERT OR ROLLBACK INTO users (id) VALUES ('1')")).toThrow();
    },
  });
  await run(Promise.all(["1", "2", "3"].map((userId) => signUp(userId))));
  await run(outbox.drain({ maxMs: 3_000 }));
  expect([getUserCard("1"), getUserCard("2"), getUserCard("3")]).toEqual([
    null,
    expect.any(String),
    expect.any(String),
  ]);
  const ended = { message: expect.stringContaining("ended inside of its function") };
  expect(outcomes.filter(({ outcome }) => outcome === "issued")).toHaveLength(3);
  expect(outcomes).toContainEqual(
    expect.objectContaining({ outcome: "not-delivered", error: expect.objectContaining(ended) }),
  );
});

it("calls onRejected with what to correct", async () => {
  const rejected: unknown[] = [];
  const { outbox, run, signUp, weather } = openVirtualShop({
    onRejected: (entry) => rejected.push(entry),
  });
  await run(signUp("1"));
  weather.push(
    Response.json(
      { type: "about:blank", status: 422, detail: "The phone is not valid." },
      { status: 422 },
    ),
  );
  await run(outbox.issue(1));
  expect(rejected).toMatchObject([
    {
      userId: "1",
      state: "rejected",
      error: { code: "validation", userMessage: "The phone is not valid." },
    },
  ]);
});

it("calls onIssued when a person resolves an unknown entry with its card", async () => {
  const { outbox, run, weather, clock, signUp, getUserCard } = openVirtualShop();
  await run(signUp("1"));
  weather.push("lost");
  await run(outbox.issue(1, { deadlineMs: 100 }));
  await clock.pass(24 * 60 * minute);
  await run(outbox.drain());
  expect(await run(outbox.resolve(1, { cardId: "card_found" }))).toMatchObject({
    state: "issued",
    cardId: "card_found",
  });
  expect(getUserCard("1")).toBe("card_found");
  await expect(run(outbox.resolve(1, { cardId: "card_other" }))).rejects.toThrow(
    "this one is issued",
  );
});

it("records the card of the first of two people who resolve an entry at once, and refuses the second", async () => {
  const cards: string[] = [];
  const { outbox, run, weather, clock, signUp } = openVirtualShop({
    onIssued: ({ cardId }) => void cards.push(cardId),
  });
  await run(signUp("1"));
  weather.push("lost");
  await run(outbox.issue(1, { deadlineMs: 100 }));
  await clock.pass(24 * 60 * minute);
  await run(outbox.drain());
  const both = ["card_first", "card_second"].map((cardId) => outbox.resolve(1, { cardId }));
  const [first, second] = await run(Promise.allSettled(both));
  expect(first).toMatchObject({ value: { state: "issued", cardId: "card_first" } });
  expect(second).toMatchObject({
    reason: { message: "resolve is for entries that are unknown; this one is issued." },
  });
  expect(await outbox.get(1)).toMatchObject({ cardId: "card_first", isDelivered: true });
  expect(cards).toEqual(["card_first"]);
});

it("keeps an entry waiting when the service responds 202 without a card, with its attempt recorded", async () => {
  const { outbox, run, weather, signUp, clock } = openVirtualShop();
  await run(signUp("1"));
  const sentAtMs = clock.now();
  weather.push(new Response(null, { status: 202 }));
  const entry = await run(outbox.issue(1, { deadlineMs: 100 }));
  expect(entry).toMatchObject({
    state: "waiting",
    attempts: 1,
    error: { code: "invalid-response" },
  });
  expect(entry.firstAttemptAt?.getTime()).toBe(sentAtMs);
  expect(await outbox.count()).toMatchObject({ paused: [] }); // the service responds
});

it.each([
  ["after a lost response", ["lost"] as const],
  ["without an earlier attempt", []],
])("ends a 409 that lasts ten minutes as unknown, %s", async (_name, earlier) => {
  const { outbox, run, weather, signUp, clock, names } = openVirtualShop();
  await run(signUp("1"));
  const addedAtMs = clock.now();
  weather.push(...earlier, ...Array.from({ length: 200 }, () => 409));
  const worker = outbox.work({ pollMs: 5_000 });
  await clock.pass(9 * minute);
  const waiting = await outbox.get(1);
  expect(waiting).toMatchObject({ state: "waiting", error: { code: "conflict" } });
  expect(waiting?.firstAttemptAt?.getTime()).toBeLessThan(addedAtMs + 2_000);
  expect(waiting?.error).not.toHaveProperty("firstConflictAtMs");
  await clock.pass(20 * minute);
  await run(worker.stop());
  expect(await outbox.get(1)).toMatchObject({ state: "unknown" });
  expect(names()).toContain("unknown");
});

it("issues 1,000 cards when the service responds 409 while it works for three seconds, and loses the first response", async () => {
  const { outbox, run, requests, weather, clock, service, names } = openVirtualShop();
  service.faults.clear();
  const startedAt = new Map<string, number>();
  const byKey = async () => {
    const key = requests.at(-1)?.key ?? "";
    const first = startedAt.get(key);
    if (first === undefined) {
      startedAt.set(key, clock.monotonicMs());
      return "lost" as const;
    }
    return clock.monotonicMs() - first < 3_000 ? 409 : ("ok" as const);
  };
  weather.push(...Array.from({ length: 50_000 }, () => byKey));
  await run(outbox.addAll(toEntries(1_000)));
  const worker = outbox.work({ concurrency: 32, pollMs: 1_000 });
  for (let minutes = 0; minutes < 600 && (await outbox.count()).waiting > 0; minutes++)
    await clock.pass(minute);
  await run(worker.stop());
  expect(await outbox.count()).toMatchObject({
    issued: 1_000,
    waiting: 0,
    rejected: 0,
    unknown: 0,
  });
  expect(names()).not.toContain("rejected");
}, 120_000);

it("reports onIssued that throws in resolve, and repeats it", async () => {
  let calls = 0;
  const { outbox, run, weather, clock, signUp, outcomes } = openVirtualShop({
    onIssued: () => {
      if (++calls === 1) throw new Error("The disk is full.");
    },
  });
  await run(signUp("1"));
  weather.push("lost");
  await run(outbox.issue(1, { deadlineMs: 100 }));
  await clock.pass(24 * 60 * minute);
  await run(outbox.drain());
  expect(await run(outbox.resolve(1, { cardId: "card_found" }))).toMatchObject({
    isDelivered: false,
  });
  expect(outcomes.at(-1)).toMatchObject({ outcome: "not-delivered", retryInMs: 875 });
  expect(await run(outbox.drain())).toMatchObject({ undelivered: 0 });
  expect(calls).toBe(2);
});
