/** The rules of the outbox, one by one, in virtual time. */
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { describe, expect, it } from "vitest";
import { testOutage } from "./outage.ts";
import {
  createNetwork,
  openSqliteShop,
  openVirtualShop,
  openWithoutSync,
  templateId,
  toEntries,
  toEntry,
  toRequest,
  type Weather,
} from "./shop.ts";

const minute = 60_000;
const hour = 60 * minute;

// G9
it("gives no user the card of another one whose entry was forgotten while its request was sent", async () => {
  const { outbox, signUp, weather, run, requests, getUserCard } = openVirtualShop();
  await run(signUp("1"));
  let second: ReturnType<typeof outbox.issue> | undefined;
  weather.push(async () => {
    await outbox.forget(1);
    await signUp("2");
    second = outbox.issue(2);
    await outbox.get(2);
    await new Promise((resolve) => setImmediate(resolve));
    return "ok";
  });
  await run(outbox.issue(1).catch(() => undefined));
  const entry = await run(second as NonNullable<typeof second>);
  expect(requests).toHaveLength(2);
  expect(entry).toMatchObject({ userId: "2", state: "issued", card: { id: getUserCard("2") } });
});

describe("the 24 hours of a key", () => {
  it("begin before the request is sent, and are stored with the lease", async () => {
    const { outbox, signUp, weather, clock, run, database } = openVirtualShop();
    await run(signUp("1"));
    const sentAtMs = clock.now();
    let stored: unknown;
    weather.push(async () => {
      stored = database.prepare("SELECT firstattempt FROM issuing_outbox_entries").get();
      return "ok";
    });
    await run(outbox.issue(1));
    expect(stored).toMatchObject({ firstattempt: sentAtMs });
  });

  it("are cleared by a refused connection when no other attempt can have been received", async () => {
    const { outbox, signUp, weather, run } = openVirtualShop();
    await run(signUp("1"));
    weather.push("refused");
    const entry = await run(outbox.issue(1, { deadlineMs: 100 }));
    expect(entry).toMatchObject({ state: "waiting", error: { code: "network" } });
    expect(entry.firstAttemptAt).toBeUndefined();
  });

  it("are not cleared by a refused connection after a lost response", async () => {
    const { outbox, signUp, weather, run, clock } = openVirtualShop();
    await run(signUp("1"));
    const sentAtMs = clock.now();
    weather.push("lost", "refused");
    const entry = await run(outbox.issue(1, { deadlineMs: 1_000 }));
    expect(entry).toMatchObject({ state: "waiting", attempts: 2 });
    expect(entry.firstAttemptAt?.getTime()).toBe(sentAtMs);
  });

  // G2
  it("end as unknown without another request", async () => {
    const { outbox, signUp, weather, requests, run, clock, names, getUserCard } = openVirtualShop();
    await run(signUp("1"));
    weather.push("lost");
    const sentAtMs = clock.now();
    await run(outbox.issue(1, { deadlineMs: 100 }));
    const { nextExpiryAt } = await outbox.count();
    expect(nextExpiryAt?.getTime()).toBe(sentAtMs + 24 * hour - minute - 30_000); // an attempt takes 30 s
    await clock.pass(Number(nextExpiryAt) - clock.now() + 1_000);
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1, waiting: 0 });
    expect(requests).toHaveLength(1);
    expect(names()).toContain("unknown");
    expect(getUserCard("1")).toBeNull();
  });

  // G2
  it("leave an attempt that begins right before their end its whole time", async () => {
    const { outbox, signUp, weather, requests, run, clock, outcomes } = openVirtualShop();
    await run(signUp("1"));
    const addedAtMs = clock.now();
    weather.push("lost", () => clock.wait(5_000));
    await run(outbox.issue(1, { deadlineMs: 100 }));
    const { nextExpiryAt } = await outbox.count();
    await clock.pass(Number(nextExpiryAt) - clock.now() - 1_000);
    expect(await run(outbox.drain())).toMatchObject({ issued: 1, unknown: 0 });
    expect(requests).toHaveLength(2);
    expect(outcomes.at(-1)).toMatchObject({ outcome: "issued", lagMs: clock.now() - addedAtMs });
  });

  it("count from firstAttemptAt of add", async () => {
    const { outbox, requests, run, clock } = openVirtualShop();
    const add = (userId: number, firstAttemptAt: number) =>
      outbox.write((database) => outbox.add(database, { ...toEntry(userId), firstAttemptAt }));
    await run(add(1, clock.now() - 25 * hour));
    await run(add(2, clock.now() - 23 * hour));
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1, issued: 1 });
    expect(requests).toHaveLength(1);
  });
});

describe("an outage", () => {
  // G10
  testOutage("503", "one process"); // the other pairs are in outage.slow.test.ts
  testOutage("timeouts", "three processes");
  testOutage("refused connections", "a process for each call");

  // G12
  it("begins with three entries, sends nothing for issue while it lasts, and ends with the first success", async () => {
    const { outbox, signUp, weather, run, clock, requests, names, lines } = openVirtualShop();
    weather.push(503, 503, 503);
    for (const userId of ["1", "2"]) {
      await run(signUp(userId));
      await run(outbox.issue(userId, { deadlineMs: 100 }));
    }
    await run(signUp("3"));
    const startedMs = clock.monotonicMs();
    expect(await run(outbox.issue(3))).toMatchObject({ state: "waiting", attempts: 1 });
    expect(clock.monotonicMs()).toBe(startedMs); // it began the pause, and waited for no other attempt
    await run(signUp("4"));
    expect(await run(outbox.issue(4))).toMatchObject({ state: "waiting", attempts: 0 });
    expect(requests).toHaveLength(3);
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(3_000);
    await run(worker.stop());
    expect(await outbox.count()).toMatchObject({ issued: 4, paused: [] });
    expect(names().filter((name) => name === "paused" || name === "resumed")).toEqual([
      "paused",
      "resumed",
    ]);
    expect(lines).toEqual([
      expect.stringContaining("was not issued (server): the service fails or does not respond"),
      expect.stringContaining("wait: the service fails or does not respond"),
      expect.stringContaining("are sent again"),
    ]);
  });

  it("is bridged within the deadline when it begins during the call", async () => {
    const { outbox, signUp, weather, run, requests } = openVirtualShop();
    await run(signUp("1"));
    weather.push(...Array(3).fill(503));
    expect(await run(outbox.issue(1, { deadlineMs: 3_000 }))).toMatchObject({ state: "waiting" });
    expect(requests).toHaveLength(3); // after about 1 and 2 s
    expect(await run(outbox.issue(1, { deadlineMs: 60_000 }))).toMatchObject({
      state: "issued",
      attempts: 4,
    });
  });

  it("is not that of one entry which always makes the service fail, for a night: a sign-up has its card at once", async () => {
    const { outbox, signUp, weather, requests, run, clock, names } = openVirtualShop();
    const byEntry = async () => (requests.at(-1)?.body.includes("poison@") ? 500 : ("ok" as const));
    weather.push(...Array.from({ length: 1_000 }, () => byEntry));
    await run(signUp("1", toRequest({ email: "poison@example.com" })));
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(8 * hour);
    expect(requests.length).toBeGreaterThan(30); // its own backoff grows to 15 minutes
    expect(requests.length).toBeLessThan(60);
    await run(signUp("2"));
    expect(await run(outbox.issue(2))).toMatchObject({ state: "issued", attempts: 1 });
    expect(names()).not.toContain("paused");
    await run(worker.stop());
  });

  it("is rare and short when three entries always make the service fail: most sign-ups have their card at once", async () => {
    const { outbox, signUp, weather, requests, outcomes, run, clock } = openVirtualShop();
    const byEntry = async () => (requests.at(-1)?.body.includes("poison") ? 500 : ("ok" as const));
    weather.push(...Array.from({ length: 1_000 }, () => byEntry));
    for (const userId of ["a", "b", "c"])
      await run(signUp(userId, toRequest({ email: `poison-${userId}@example.com` })));
    const worker = outbox.work({ pollMs: 1_000 });
    await clock.pass(60_000);
    for (let userId = 1; userId <= 100; userId++) {
      await run(signUp(String(userId)));
      await run(outbox.issue(userId, { deadlineMs: 5_000 }));
      await clock.pass(10_000);
    }
    const lagsMs = outcomes.flatMap((each) => (each.outcome === "issued" ? [each.lagMs] : []));
    expect(lagsMs.filter((ms) => ms < 5_000).length).toBeGreaterThan(80);
    expect(Math.max(...lagsMs)).toBeLessThan(3 * 60_000);
    await run(worker.stop());
  });

  it("is not begun by visitors whose deadline is shorter than the service needs", async () => {
    const { outbox, signUp, weather, run, clock } = openVirtualShop();
    weather.push(...Array.from({ length: 5 }, () => () => clock.wait(2_000)));
    for (const userId of ["1", "2", "3", "4", "5"]) {
      await run(signUp(userId));
      expect(await run(outbox.issue(userId, { deadlineMs: 500 }))).toMatchObject({
        state: "waiting",
      });
    }
    await clock.pass(10_000);
    expect(await outbox.count()).toMatchObject({ paused: [] });
    expect(await run(outbox.drain())).toMatchObject({ issued: 5 });
  });

  it("ends when its entries are forgotten", async () => {
    const { outbox, signUp, weather, run, clock } = openVirtualShop();
    weather.push(503, 503, 503);
    for (const userId of ["1", "2", "3"]) {
      await run(signUp(userId));
      await run(outbox.issue(userId, { deadlineMs: 100 }));
    }
    const worker = outbox.work();
    for (const userId of ["1", "2", "3"]) await run(outbox.forget(userId));
    await clock.pass(3_000);
    await run(worker.stop());
    expect((await outbox.count()).paused).toEqual([]);
    await run(signUp("4"));
    expect(await run(outbox.issue(4))).toMatchObject({ state: "issued" });
  });

  it("does not end with an attempt that was aborted, or a visitor who did not wait", async () => {
    const { outbox, signUp, weather, run, clock, names } = openVirtualShop();
    const never = () => new Promise<Weather>(() => {});
    weather.push(503, 503, never, 503, never);
    for (const userId of ["1", "2", "3", "4"]) {
      await run(signUp(userId));
      await run(outbox.issue(userId, { deadlineMs: 500 }));
    }
    expect(names()).toContain("paused"); // the third visitor did not end the row of failures
    const worker = outbox.work();
    await clock.pass(2_000);
    await run(worker.stop({ graceMs: 0 }));
    expect(await outbox.count()).toMatchObject({ waiting: 4, paused: [{ reason: "server" }] });
    expect(names()).not.toContain("resumed");
    expect(await run(outbox.drain())).toMatchObject({ issued: 4 });
  });

  it.each([
    ["409 while it is being processed", 409],
    ["202 without a card", 202],
    ["404", 404],
    ["429 without Retry-After", 429],
    ["401", 401],
    ["400", 400],
    ["a lost response", "lost"],
  ] as const)(
    "does not send the entry that is tried again at once after %s",
    async (_name, weatherAfter) => {
      const { outbox, signUp, weather, requests, run, clock } = openVirtualShop();
      const later = async () =>
        weatherAfter === 202 ? new Response(null, { status: 202 }) : (weatherAfter as Weather);
      weather.push("lost", ...Array.from({ length: 1_000 }, () => later));
      await run(signUp("1"));
      const worker = outbox.work({ pollMs: 1_000 });
      await clock.pass(minute);
      expect(requests.length).toBeGreaterThan(2);
      expect(requests.length).toBeLessThan(12);
      await run(worker.stop());
    },
  );

  it("goes on when a single request fails among others that succeed", async () => {
    const { outbox, weather, run, names } = openVirtualShop();
    await run(outbox.addAll(toEntries(200)));
    for (let index = 0; index < 200; index++) weather.push(index % 50 === 25 ? 503 : "ok");
    expect(await run(outbox.drain())).toMatchObject({ issued: 200 });
    expect(names().filter((name) => name === "failed")).toHaveLength(4);
    expect(names()).not.toContain("paused");
  });
});

describe("a template that is not found", () => {
  it("does not delay another one, with 1,000 entries that wait, and resumes by itself", async () => {
    const { outbox, signUp, service, run, clock, names, lines } = openVirtualShop();
    await run(
      outbox.addAll(toEntries(1_000).map((entry) => ({ ...entry, template: "tpl_later" }))),
    );
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(minute);
    await run(signUp("new"));
    const startedMs = clock.monotonicMs();
    expect(await run(outbox.issue("new"))).toMatchObject({ state: "issued" });
    expect(clock.monotonicMs()).toBe(startedMs);
    await clock.pass(hour);
    expect(await outbox.count()).toMatchObject({
      issued: 1,
      waiting: 1_000,
      rejected: 0,
      paused: [{ reason: "not-found", template: "tpl_later" }],
    });
    expect(names().filter((name) => name === "paused")).toHaveLength(1);
    expect(lines).toEqual([
      expect.stringContaining("was not issued (not-found)"),
      expect.stringContaining("restore the template in the service's console"),
    ]);
    service.templates.create({ id: "tpl_later", name: "Later", fields: [] });
    await clock.pass(2 * minute);
    expect(await outbox.count()).toMatchObject({ issued: 1_001, paused: [] });
    await run(worker.stop());
  });
});

describe("a key that is not accepted", () => {
  it.each([
    [401, "unauthorized"],
    [403, "forbidden"],
  ])(
    "pauses the template after a %i, without rejecting anybody or beginning the 24 hours",
    async (status, reason) => {
      const { outbox, signUp, weather, run, clock, lines } = openVirtualShop();
      weather.push(status, status, status);
      for (const userId of ["1", "2", "3"]) {
        await run(signUp(userId));
        expect(await run(outbox.issue(userId, { deadlineMs: 100 }))).not.toHaveProperty(
          "firstAttemptAt",
        );
      }
      expect((await outbox.count()).paused).toMatchObject([{ template: templateId, reason }]);
      expect(lines.at(-1)).toContain("LOYALTY_API_KEY");
      const worker = outbox.work({ pollMs: 30_000 });
      await clock.pass(minute);
      expect(await outbox.count()).toMatchObject({ issued: 3, rejected: 0, paused: [] });
      await run(worker.stop());
    },
  );
});

describe("a process that is stopped between lease and request", () => {
  const openFrozen = () => {
    let freeze: (() => void) | undefined;
    const open: OpenSqlite = (file) => {
      const database = openSqlite(file);
      const { prepare } = database;
      database.prepare = (sql) => {
        const statement = prepare.call(database, sql);
        if (!sql.includes("SET lease = ?")) return statement;
        const all: typeof statement.all = (...values) => {
          const rows = statement.all(...values);
          freeze?.();
          return rows;
        };
        return {
          run: (...values) => statement.run(...values),
          get: (...values) => statement.get(...values),
          all,
        };
      };
      return database;
    };
    const shop = openVirtualShop({ open });
    const freezeOnce = (ms: number) => {
      freeze = () => {
        freeze = undefined;
        shop.clock.correct(ms);
      };
    };
    return { ...shop, freezeOnce };
  };

  // G26
  it("sends nothing under the old lease, and issues the card of an entry that was never sent", async () => {
    const { outbox, signUp, run, requests, freezeOnce } = openFrozen();
    await run(signUp("1"));
    freezeOnce(25 * hour);
    expect(await run(outbox.issue(1, { deadlineMs: 50 }))).toMatchObject({
      attempts: expect.any(Number),
    });
    expect(await run(outbox.drain())).toMatchObject({ issued: 1 });
    expect(requests).toHaveLength(1);
  });

  it("sends nothing for a key that the service may have forgotten", async () => {
    const { outbox, signUp, run, weather, requests, freezeOnce, clock } = openFrozen();
    await run(signUp("1"));
    weather.push("lost");
    await run(outbox.issue(1, { deadlineMs: 100 }));
    await clock.pass(10_000);
    freezeOnce(25 * hour);
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1 });
    expect(requests).toHaveLength(1);
  });

  it("sends nothing for a key that the service may forget during the request, although the lease lasts", async () => {
    const { outbox, signUp, run, weather, requests, freezeOnce, clock } = openFrozen();
    await run(signUp("1"));
    weather.push("lost");
    await run(outbox.issue(1, { deadlineMs: 100 }));
    const { nextExpiryAt } = await outbox.count();
    await clock.pass(Number(nextExpiryAt) - clock.now() - 10_000);
    freezeOnce(40_000); // the lease of 60 s has not expired
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1 });
    expect(requests).toHaveLength(1);
  });
});

describe("clocks", () => {
  // G26
  it("that are set back and forward do not give two cards", async () => {
    const { outbox, signUp, weather, run, clock, requests } = openVirtualShop();
    await run(signUp("1"));
    weather.push("lost");
    await run(outbox.issue(1, { deadlineMs: 100 }));
    await clock.pass(20 * hour);
    clock.correct(-24 * hour);
    await clock.pass(5 * hour);
    clock.correct(24 * hour);
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1 });
    expect(requests).toHaveLength(1);
  });
});

describe("a clock that was thirty days ahead for a moment", () => {
  function openTwo(options: Parameters<typeof openVirtualShop>[0] = {}) {
    const shop = openVirtualShop(options);
    const openOther = () =>
      openSqliteShop(shop, {
        ...options,
        file: shop.file,
        clientOptions: shop.clientOptions,
        open: openWithoutSync,
      });
    return { ...shop, openOther };
  }

  it("does not hold up a callback that failed meanwhile, after a restart", async () => {
    let fails = true;
    const onIssued = () => {
      if (fails) throw new Error("the shop fails");
    };
    const { outbox, signUp, run, clock, openOther } = openTwo({ onIssued });
    await run(signUp("1"));
    await run(outbox.issue(1));
    clock.correct(30 * 24 * hour);
    await run(outbox.drain());
    clock.correct(-30 * 24 * hour);
    await run(outbox.close());
    fails = false;
    const other = openOther().outbox;
    const worker = other.work({ pollMs: 60_000 });
    await clock.pass(hour);
    expect(await other.get(1)).toMatchObject({ isDelivered: true });
    await run(worker.stop());
  });

  it("leaves a request of that moment to a person: nobody knows how old its key is", async () => {
    const { outbox, signUp, run, clock, weather, requests, openOther } = openTwo();
    const other = openOther().outbox;
    await run(other.count());
    clock.correct(30 * 24 * hour);
    await run(signUp("1"));
    weather.push("lost");
    await run(outbox.issue(1, { deadlineMs: 100 }));
    clock.correct(-30 * 24 * hour);
    await run(outbox.close());
    expect(await run(other.issue(1))).toMatchObject({ state: "unknown" });
    expect(requests).toHaveLength(1);
  });

  it("does not hold up an entry that a process added meanwhile which has ended", async () => {
    const { outbox, signUp, run, clock, openOther } = openTwo();
    const { outbox: other, signUp: signUpThere } = openOther();
    await run(other.count());
    clock.correct(30 * 24 * hour);
    await run(signUp("1"));
    clock.correct(-30 * 24 * hour);
    await run(outbox.close());
    await run(signUpThere("2"));
    const worker = other.work({ pollMs: 60_000 });
    await clock.pass(hour);
    expect(await other.count()).toMatchObject({ issued: 2 });
    await run(worker.stop());
  });
});

describe("an outbox of another service", () => {
  // G25
  it("is refused with another base URL or namespace, by a message that names both and what to do", async () => {
    const network = createNetwork();
    const file = scratchFile();
    await openSqliteShop(network, { file }).outbox.count();
    const other = createNetwork({ baseUrl: "https://other.example.com" });
    const message =
      /issues cards with the baseUrl \(LOYALTY_URL\) "(.*)", and the client of this process has "https:\/\/other.example.com.*use one for each.*SET url = NULL/;
    await expect(openSqliteShop(other, { file }).outbox.count()).rejects.toThrow(message);
    const clientOptions = { idempotencyNamespace: "staging" };
    await expect(openSqliteShop(network, { file, clientOptions }).outbox.count()).rejects.toThrow(
      'has "staging": its keys would issue second cards',
    );
  });

  // G24
  it("is refused at each lease after another process has changed the settings", async () => {
    const { outbox, signUp, database, requests } = openSqliteShop();
    await signUp("1");
    database.exec("UPDATE issuing_outbox_settings SET version = 4");
    await expect(outbox.issue(1)).rejects.toThrow(
      "version 4, and this process knows version 3: update",
    );
    expect(requests).toEqual([]);
    database.exec("DELETE FROM issuing_outbox_settings");
    await expect(outbox.issue(1)).resolves.toMatchObject({ state: "issued" }); // emptied tables heal
  });

  // G24
  it("does not change tables of a newer version", async () => {
    const file = scratchFile();
    const { outbox, database } = openSqliteShop(createNetwork(), { file });
    await outbox.count();
    database.exec(
      "UPDATE issuing_outbox_settings SET version = 4; DROP INDEX issuing_outbox_entries_state",
    );
    const readIndexes = () =>
      database.prepare("SELECT name FROM sqlite_master WHERE type = 'index'").all();
    const indexes = readIndexes();
    await expect(openSqliteShop(createNetwork(), { file }).outbox.count()).rejects.toThrow(
      "of version 4",
    );
    expect(readIndexes()).toEqual(indexes);
  });
});
