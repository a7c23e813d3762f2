/** What the outbox logs while cards wait: failures, wrong options, and that nobody sends. */
import { describe, expect, it } from "vitest";
import {
  openSqliteShop,
  openVirtualShop,
  templateId,
  toEntries,
  toEntry,
  type Weather,
} from "./shop.ts";

const minute = 60_000;

it("logs a failure with advice, once for each template and code in ten minutes", async () => {
  const { outbox, signUp, weather, run, clock, lines } = openVirtualShop();
  await run(signUp("1"));
  const issue = () => run(outbox.issue(1, { deadlineMs: 100 }));
  weather.push(401, 401, 405, 401);
  expect(await issue()).toMatchObject({ state: "waiting", error: { code: "unauthorized" } });
  await issue();
  expect(lines).toEqual([
    `issuing-outbox: a card of the template ${templateId} was not issued (unauthorized): the service does not accept the API key. Correct LOYALTY_API_KEY, and restart. It is due again in 1 s. This process runs no worker: outbox.work() or outbox.drain() sends it then.`,
  ]);
  await issue();
  expect(lines[1]).toContain("was not issued (rejected)");
  await clock.pass(10 * minute);
  await issue();
  expect(lines[2]).toContain("was not issued (unauthorized)");
  expect(lines).toHaveLength(3);
});

it.each([
  ["says that one is tried when a worker runs", true],
  ["names work and drain when no worker runs", false],
])("replaces the line of failures by that of the pause, which %s", async (_name, isWorking) => {
  const { outbox, signUp, weather, run, lines } = openVirtualShop();
  weather.push(...Array.from({ length: 100 }, () => 404));
  const worker = isWorking ? outbox.work({ pollMs: minute }) : undefined;
  for (const userId of ["1", "2", "3", "4"]) {
    await run(signUp(userId));
    await run(outbox.issue(userId, { deadlineMs: 100 }));
  }
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain("was not issued (not-found)");
  expect(lines[1]).toContain(`entries of the template ${templateId} wait`);
  expect(lines[1]).toContain("the template does not exist or is archived");
  expect(lines[1]?.includes("and one is tried at growing intervals")).toBe(isWorking);
  expect(lines[1]?.includes("This process runs no worker")).toBe(!isWorking);
  await run(worker?.stop() ?? Promise.resolve());
});

describe("an entry without its form, because add failed in a transaction that went on", () => {
  async function openTorn(firstAttemptAt?: Date) {
    const shop = openVirtualShop();
    const { outbox, database } = shop;
    await outbox.count();
    database.exec(
      "CREATE TRIGGER full BEFORE INSERT ON issuing_outbox_entries_bodies BEGIN SELECT RAISE(ABORT, 'full'); END",
    );
    const entry = { ...toEntry(1), ...(firstAttemptAt && { firstAttemptAt }) };
    await outbox.write((own) => expect(() => outbox.add(own, entry)).toThrow("full"));
    database.exec("DROP TRIGGER full");
    const add = () => outbox.write((own) => outbox.add(own, entry));
    return { ...shop, add };
  }

  it.each(["drain", "issue"] as const)(
    "is reported once by %s, and sent after another add",
    async (method) => {
      const { outbox, run, clock, lines, outcomes, requests, add } = await openTorn();
      const send = () => run<unknown>(method === "drain" ? outbox.drain() : outbox.issue(1));
      const startedMs = clock.now();
      await send();
      await send();
      expect(outcomes).toMatchObject([{ outcome: "failed", code: "no-form", attempts: 0 }]);
      expect(lines).toEqual([expect.stringMatching(/no-form.* Call add again, with the form\.$/)]);
      const entry = await outbox.get(1);
      expect(entry).toMatchObject({ state: "waiting", attempts: 0 });
      expect(entry?.nextAttemptAt).toBeUndefined();
      expect([entry?.firstAttemptAt, clock.now() - startedMs, requests.length]).toEqual([
        undefined,
        method === "drain" ? 1_000 : 100, // entries of add are due after a second
        0,
      ]);
      expect(await add()).toBe("waiting");
      await send();
      expect(await outbox.get(1)).toMatchObject({ state: "issued" });
    },
  );

  it("takes a corrected one, keeps the time of its first attempt, and is not a probe", async () => {
    const { outbox, run, signUp, weather, names, requests, clock } = await openTorn();
    weather.push(500, 500, 500);
    for (const userId of ["2", "3", "4"]) await run(signUp(userId));
    await run(outbox.drain());
    await clock.pass(600_000);
    await run(outbox.drain());
    expect(await outbox.count()).toMatchObject({ issued: 3, waiting: 1 });
    expect(names().filter((name) => name === "failed").length).toBeLessThan(10);
    await run(outbox.write((own) => outbox.correct(own, 1, toEntry(5).request)));
    await run(outbox.drain());
    expect(await outbox.get(1)).toMatchObject({ state: "issued" });
    expect(requests.length).toBeLessThan(15);

    const old = await openTorn(new Date(clock.now() - 30 * 3_600_000));
    await old.run(old.outbox.drain());
    await old.add();
    await old.run(old.outbox.drain());
    expect([await old.outbox.get(1), old.requests.length]).toMatchObject([{ state: "unknown" }, 0]);
  });
});

it("logs a wrong option of the client at once, and leases nothing more in this process", async () => {
  const { outbox, signUp, run, clock, lines, requests } = openVirtualShop({
    clientOptions: { apiKey: undefined as never },
  });
  const worker = outbox.work();
  await run(signUp("1"));
  await run(signUp("2"));
  const first = await run(outbox.issue(1));
  expect(first).toMatchObject({ state: "waiting", error: { code: "configuration" }, attempts: 1 });
  expect(first.firstAttemptAt).toBeUndefined();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/an option of the client is wrong.*until it is restarted.*apiKey/);
  expect(await run(outbox.issue(2))).toMatchObject({ state: "waiting", attempts: 0 });
  expect(await run(outbox.drain())).toMatchObject({ waiting: 2, paused: [] });
  const other = outbox.work();
  await clock.pass(10 * minute);
  expect(await outbox.get(1)).toMatchObject({ attempts: 1 });
  expect(await outbox.get(2)).toMatchObject({ attempts: 0 });
  expect(requests).toEqual([]);
  await run(worker.stop());
  await run(other.stop());
});

it.each<[string, () => string]>([
  [
    "failed",
    () => {
      throw new Error("the vault restarts");
    },
  ],
  ["returned nothing", () => ""],
  ["returned the text of another error", () => "upstream connect error"],
])("goes on after the apiKey function of the client has %s", async (_what, first) => {
  let failures = 1;
  const apiKey = () => (failures-- > 0 ? first() : "mock_website_key");
  const { outbox, signUp, run, clock, lines } = openVirtualShop({ clientOptions: { apiKey } });
  const worker = outbox.work();
  await run(signUp("1"));
  await clock.pass(minute);
  expect(await outbox.get(1)).toMatchObject({ state: "issued", attempts: 2 });
  expect(lines).toEqual([expect.stringContaining("the apiKey function of the client fails")]);
  await run(worker.stop());
});

it.each<[string, Weather]>([
  ["400 of a proxy", async () => new Response("<h1>Bad Request</h1>", { status: 400 })],
  ["202", 202],
])("logs that entries wait because of a %s, which does not pause", async (_what, weatherOfAll) => {
  const { outbox, signUp, run, clock, weather, lines } = openVirtualShop();
  weather.push(...Array.from({ length: 100 }, () => weatherOfAll));
  await run(signUp("1"));
  const worker = outbox.work({ pollMs: minute });
  await clock.pass(9 * minute);
  expect(lines).toEqual([expect.stringContaining("was not issued")]);
  await run(worker.stop());
});

it("logs that nobody leases, when an entry of new tables is due for a minute", async () => {
  const { outbox, signUp, run, clock, lines } = openVirtualShop();
  await run(outbox.addAll(toEntries(2)));
  await run(signUp("3"));
  await clock.pass(minute);
  await run(outbox.issue("3"));
  expect(lines).toEqual([
    "issuing-outbox: 3 entries wait, and nobody issues their cards: call outbox.work() in a process that runs, or outbox.drain() from cron.",
  ]);
});

it("logs it a minute after add, also when nothing is called until then", async () => {
  const { outbox, signUp, run, clock, lines } = openVirtualShop();
  const line = (waiting: number) =>
    expect.stringContaining(`${waiting} entries wait, and nobody issues their cards`);
  await run(signUp("1"));
  await clock.pass(30_000);
  await run(signUp("2"));
  expect(lines).toEqual([]);
  await clock.pass(minute);
  expect(lines).toEqual([line(2)]);
  await run(signUp("3"));
  await clock.pass(9 * minute);
  expect(lines).toHaveLength(1);
  await run(outbox.addAll(toEntries(2)));
  await clock.pass(2 * minute);
  expect(lines).toEqual([line(2), line(4)]);
});

it("logs nothing a minute after add when this process or another one works, or is closed", async () => {
  const shop = openVirtualShop();
  const { run, clock, outbox } = shop;
  const other = openSqliteShop(shop, { file: shop.file, clientOptions: shop.clientOptions });
  const worker = other.outbox.work();
  await run(shop.signUp("1"));
  await clock.pass(2 * minute);
  expect(await outbox.get(1)).toMatchObject({ state: "issued" });
  await run(worker.stop());

  const own = openVirtualShop();
  await own.run(own.signUp("1"));
  const paused = own.outbox.work({ maxPerSecond: 0.01 });
  await own.run(own.outbox.addAll(toEntries(9)));
  await own.clock.pass(2 * minute);
  expect(await own.outbox.count()).toMatchObject({ waiting: 7 });
  await own.run(paused.stop());

  const closed = openVirtualShop();
  await closed.run(closed.signUp("1"));
  await closed.run(closed.outbox.close());
  await closed.clock.pass(2 * minute);
  expect([shop.lines, other.lines, own.lines, closed.lines]).toEqual([[], [], [], []]);
});

it("logs nothing in a shop that drains each hour", async () => {
  const { outbox, signUp, weather, run, clock, lines } = openVirtualShop();
  for (let hour = 0; hour < 3; hour++) {
    weather.push("lost");
    await run(signUp(`${hour}`));
    await run(outbox.issue(`${hour}`, { deadlineMs: 100 }));
    await clock.pass(60 * minute);
    await run(outbox.drain());
  }
  expect(lines.filter((line) => line.includes("nobody"))).toEqual([]);
});

it("logs that nobody leases when an entry is due for 65 minutes", async () => {
  const { outbox, signUp, weather, run, clock, lines } = openVirtualShop();
  await run(signUp("1"));
  weather.push("lost");
  await run(outbox.issue("1", { deadlineMs: 100 }));
  for (const minutes of [65, 1]) {
    await clock.pass(minutes * minute);
    await run(signUp(`after ${minutes}`));
    await run(outbox.issue(`after ${minutes}`));
  }
  expect(lines.filter((line) => line.includes("2 entries wait, and nobody"))).toHaveLength(1);
});
