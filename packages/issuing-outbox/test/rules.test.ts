/** The rules of the outbox, one by one, in virtual time. */
import { describe, expect, it } from "vitest";
import {
  createNetwork,
  nextPhone,
  openShop,
  openVirtualShop,
  scratchFile,
  template,
  toRequest,
  type Weather,
} from "./shop.ts";

const minute = 60_000;
const hour = 60 * minute;

// G9
it("gives no user the card of another one whose entry was forgotten while its request was sent", async () => {
  const { outbox, signUp, weather, run, requests, getCardOf } = openVirtualShop();
  await run(signUp("1"));
  let second: ReturnType<typeof outbox.issue> | undefined;
  weather.push(async () => {
    await outbox.forget(1);
    await signUp("2"); // SQLite gives it the id of the first entry
    second = outbox.issue(2);
    await outbox.get(2);
    await new Promise((resolve) => setImmediate(resolve));
    return "ok";
  });
  await run(outbox.issue(1).catch(() => undefined));
  const entry = await run(second as NonNullable<typeof second>);
  expect(requests).toHaveLength(2);
  expect(entry).toMatchObject({ userId: "2", state: "issued", card: { id: getCardOf("2") } });
});

describe("the 24 hours of a key", () => {
  it("begin before the request is sent, and are stored with the lease", async () => {
    const { outbox, signUp, weather, clock, run, database } = openVirtualShop();
    await run(signUp("1"));
    const sentAtMs = clock.now();
    let stored: unknown;
    weather.push(async () => {
      stored = database.prepare("SELECT first_attempt_at FROM issuing_outbox_entries").get();
      return "ok";
    });
    await run(outbox.issue(1));
    expect(stored).toMatchObject({ first_attempt_at: sentAtMs });
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
    const { outbox, signUp, weather, requests, run, clock, names, getCardOf } = openVirtualShop();
    await run(signUp("1"));
    weather.push("lost");
    await run(outbox.issue(1, { deadlineMs: 100 }));
    await clock.pass(24 * hour);
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1, waiting: 0 });
    expect(requests).toHaveLength(1);
    expect(names()).toContain("unknown");
    expect(getCardOf("1")).toBeNull();
  });

  it("count from firstAttemptAt of add", async () => {
    const { outbox, requests, run, clock } = openVirtualShop();
    const add = (userId: number, firstAttemptAt: number) =>
      outbox.write((database) =>
        outbox.add(database, {
          userId,
          template,
          request: toRequest({ phone: nextPhone() }),
          firstAttemptAt,
        }),
      );
    await run(add(1, clock.now() - 25 * hour));
    await run(add(2, clock.now() - 23 * hour));
    expect(await run(outbox.drain())).toMatchObject({ unknown: 1, issued: 1 });
    expect(requests).toHaveLength(1);
  });
});

describe("an outage", () => {
  // G10
  it("lets all sign-ups of thirty hours succeed, with one entry that is tried", async () => {
    const { outbox, signUp, weather, requests, run, clock, service } = openVirtualShop();
    const kinds = [503, "lost", 500, "refused", 502] as const;
    const worker = outbox.work({ pollMs: 30_000 });
    for (let hours = 0; hours < 30; hours++) {
      for (let each = 0; each < 4; each++) {
        weather.length = 0;
        weather.push(...Array.from({ length: 2_000 }, (_, index) => kinds[index % kinds.length] ?? 503));
        const userId = String(hours * 4 + each);
        await run(signUp(userId));
        expect(await run(outbox.issue(userId, { deadlineMs: 5_000 }))).toMatchObject({ state: "waiting" });
        await clock.pass(15 * minute);
      }
    }
    expect(new Set(requests.map(({ key }) => key)).size).toBeLessThanOrEqual(2); // the one that expired, and the next
    weather.length = 0;
    await clock.pass(20 * minute);
    await run(worker.stop());
    const counts = await outbox.count();
    expect(counts).toMatchObject({ waiting: 0, paused: [] });
    expect(counts.unknown).toBeLessThanOrEqual(1);
    expect(counts.issued + counts.unknown).toBe(120);
    expect(service.warnings()).toEqual([]);
  });

  it("pauses at most 15 minutes whatever Retry-After asks, and shows what was asked", async () => {
    const { outbox, signUp, weather, run, clock, requests } = openVirtualShop();
    await run(signUp("1"));
    weather.push(new Response(null, { status: 503, headers: { "retry-after": "999999999999" } }));
    expect(await run(outbox.issue(1))).toMatchObject({ state: "waiting" });
    const [pause] = (await outbox.count()).paused;
    expect(pause).toMatchObject({ reason: "outage", retryAfterMs: 24 * hour });
    expect((pause?.until?.getTime() ?? 0) - clock.now()).toBeLessThanOrEqual(15 * minute);
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(16 * minute);
    expect(await outbox.get(1)).toMatchObject({ state: "issued" });
    await run(worker.stop());
    expect(requests).toHaveLength(2);
  });

  // G12
  it("sends nothing for issue while it lasts, and ends with the first success", async () => {
    const { outbox, signUp, weather, run, clock, requests, names } = openVirtualShop();
    await run(signUp("1"));
    weather.push(503);
    await run(outbox.issue(1, { deadlineMs: 100 }));
    await run(signUp("2"));
    expect(await run(outbox.issue(2))).toMatchObject({ state: "waiting", attempts: 0 });
    expect(requests).toHaveLength(1);
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(2_000);
    await run(worker.stop());
    expect(await outbox.count()).toMatchObject({ issued: 2, paused: [] });
    expect(names().filter((name) => name === "paused" || name === "resumed")).toEqual(["paused", "resumed"]);
  });

  it("is bridged within the deadline when it begins during the call; a repeated call returns at once", async () => {
    const { outbox, signUp, weather, run, clock, requests } = openVirtualShop();
    const duration = async (deadlineMs: number) => {
      const startedMs = clock.monotonicMs();
      const { state } = await run(outbox.issue(1, { deadlineMs }));
      return { state, ms: clock.monotonicMs() - startedMs };
    };
    await run(signUp("1"));
    weather.push(...Array(4).fill(503));
    const first = await duration(3_000);
    expect(first).toMatchObject({ state: "waiting" });
    expect(requests).toHaveLength(3); // after pauses of about 0.5 and 1 s
    expect(await duration(3_000)).toEqual({ state: "waiting", ms: 0 });
    expect(requests).toHaveLength(3);
    await clock.pass(2_000); // the pause is over
    expect(await duration(60_000)).toMatchObject({ state: "issued" });
  });

  it("is reported again when its reason changes", async () => {
    const { outbox, signUp, weather, run, clock, outcomes, lines } = openVirtualShop();
    weather.push(new Response(null, { status: 429, headers: { "retry-after": "60" } }), 503, 503);
    await run(signUp("1"));
    outbox.work();
    await clock.pass(10 * minute);
    const ofPauses = outcomes.flatMap((each) => ("pause" in each ? [[each.outcome, each.pause.reason]] : []));
    expect(ofPauses).toEqual([
      ["paused", "rate-limited"],
      ["paused", "outage"],
      ["resumed", "outage"],
    ]);
    expect(lines).toEqual([
      expect.stringContaining("the service fails or does not respond"),
      expect.stringContaining("the pause (outage) has ended"),
    ]);
  });

  it("logs its end when it began as an outage and ended as another pause", async () => {
    const { outbox, signUp, weather, run, clock, lines } = openVirtualShop();
    weather.push(503, new Response(null, { status: 429, headers: { "retry-after": "2" } }));
    await run(signUp("1"));
    outbox.work();
    await clock.pass(10_000);
    expect(lines).toEqual([
      expect.stringContaining("the service fails or does not respond"),
      expect.stringContaining("the pause (rate-limited) has ended"),
    ]);
  });

  it("is reported as ended when only one entry fails", async () => {
    const { outbox, signUp, weather, run, clock, names } = openVirtualShop();
    weather.push(...Array.from({ length: 9 }, () => 500));
    await run(signUp("1"));
    outbox.work();
    await clock.pass(20 * minute);
    const ofPauses = names().filter((name) => name === "paused" || name === "resumed");
    expect(ofPauses.length).toBeGreaterThan(1);
    expect(ofPauses).toEqual(ofPauses.map((_, index) => (index % 2 === 0 ? "paused" : "resumed")));
  });

  it("is logged with its end once in ten minutes, and the end of one that lasted for a minute", async () => {
    const { outbox, signUp, weather, run, clock, lines } = openVirtualShop();
    const worker = outbox.work({ pollMs: 30_000 });
    for (const userId of ["1", "2"]) {
      weather.push(503);
      await run(signUp(userId));
      await clock.pass(5_000);
    }
    expect(lines).toEqual([
      expect.stringContaining("the service fails or does not respond"),
      expect.stringContaining("the pause (outage) has ended"),
    ]);
    weather.push(...Array.from({ length: 8 }, () => 503));
    await run(signUp("3"));
    await clock.pass(20 * minute);
    expect(lines.slice(2)).toEqual([expect.stringContaining("the pause (outage) has ended")]);
    await run(worker.stop());
  });

  it("tries another entry when the service fails with 500 for one only", async () => {
    const { outbox, signUp, weather, requests, run, clock } = openVirtualShop();
    const isPoison = ({ body }: { body: string }) => body.includes("poison@example.com");
    const byEntry = async () => (isPoison(requests.at(-1) ?? { body: "" }) ? 500 : ("ok" as const));
    weather.push(...Array.from({ length: 1_000 }, () => byEntry));
    await run(signUp("1", toRequest({ email: "poison@example.com" })));
    expect(await run(outbox.issue(1, { deadlineMs: 100 }))).toMatchObject({ state: "waiting" });
    await run(signUp("2"));
    await run(signUp("3"));
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(minute);
    expect(await outbox.count()).toMatchObject({ issued: 2, waiting: 1, paused: [] });
    await run(worker.stop());
  });

  it.each([
    ["409 while it is being processed", 409],
    ["202 without a card", 202],
    ["404", 404],
    ["429 without Retry-After", 429],
    ["401", 401],
    ["400", 400],
    ["a lost response", "lost"],
  ] as const)("does not send the entry that is tried again at once after %s", async (_name, weatherAfter) => {
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
  });

  it("goes on when a single request fails among others that succeed", async () => {
    const { outbox, weather, run, names } = openVirtualShop();
    const list = Array.from({ length: 200 }, (_, userId) => ({
      userId,
      template,
      request: toRequest({ phone: nextPhone() }),
    }));
    await run(outbox.addAll(list));
    for (let index = 0; index < 200; index++) weather.push(index % 50 === 25 ? 503 : "ok");
    expect(await run(outbox.drain())).toMatchObject({ issued: 200 });
    expect(names().filter((name) => name === "failed")).toHaveLength(4);
    expect(names()).not.toContain("paused");
  });
});

describe("a template that does not exist", () => {
  it("pauses its entries only, with one alarm, and resumes by itself", async () => {
    const { outbox, signUp, service, run, clock, names } = openVirtualShop();
    await run(
      outbox.write((database) => {
        for (const userId of [1, 2])
          outbox.add(database, { userId, template: "tpl_later", request: toRequest({ phone: nextPhone() }) });
      }),
    );
    const startedMs = clock.monotonicMs();
    expect(await run(outbox.issue(1))).toMatchObject({ state: "waiting", attempts: 1 });
    expect(await run(outbox.issue(1))).toMatchObject({ state: "waiting", attempts: 1 });
    expect(clock.monotonicMs()).toBe(startedMs); // no visitor waits for a template
    await run(signUp("3"));
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(hour);
    expect(await outbox.count()).toMatchObject({
      issued: 1,
      waiting: 2,
      rejected: 0,
      paused: [{ reason: "template-not-found", template: "tpl_later" }],
    });
    expect(names().filter((name) => name === "paused")).toHaveLength(1);
    service.templates.create({ id: "tpl_later", name: "Later", fields: [] });
    await clock.pass(16 * minute);
    expect(await outbox.count()).toMatchObject({ issued: 3, paused: [] });
    await run(worker.stop());
  });
});

describe("a key that is not accepted", () => {
  it("pauses once for requests that ran at the same time, and for callbacks that fail", async () => {
    const { outbox, run, weather, clock, database } = openVirtualShop({
      onIssued: ({ userId }) => {
        if (Number(userId) < 50) throw new Error("The callback fails.");
      },
    });
    const toList = (from: number, length: number) =>
      Array.from({ length }, (_, index) => ({
        userId: from + index,
        template,
        request: toRequest({ phone: nextPhone() }),
      }));
    await run(outbox.addAll(toList(0, 50)));
    expect(await run(outbox.drain({ maxMs: 100 }))).toMatchObject({ issued: 50, undelivered: 50 });
    await run(outbox.addAll(toList(50, 32)));
    weather.push(401, 401, 401, 401); // so many begin at once
    const worker = outbox.work({ concurrency: 16, pollMs: 1_000 });
    await clock.pass(10_000);
    expect(await outbox.count()).toMatchObject({ issued: 82, waiting: 0, paused: [] });
    expect(database.prepare("SELECT max(attempts) AS most FROM issuing_outbox_entries").get()).toMatchObject({
      most: 2,
    });
    await run(worker.stop());
  });

  it.each([401, 403])("pauses this process only after a %i, without rejecting anybody", async (status) => {
    const { outbox, signUp, weather, run, clock, names, ...shop } = openVirtualShop();
    await run(signUp("1"));
    weather.push(status);
    expect(await run(outbox.issue(1))).not.toHaveProperty("firstAttemptAt");
    expect((await outbox.count()).paused).toMatchObject([{ reason: "unauthorized" }]);
    const other = openShop({ ...shop, weather }, { file: shop.file, clientOptions: shop.clientOptions });
    expect((await other.outbox.count()).paused).toEqual([]);
    expect(await run(other.outbox.issue(1))).toMatchObject({ state: "issued" });
    await run(signUp("2"));
    const worker = outbox.work({ pollMs: 30_000 });
    await clock.pass(minute);
    expect(await outbox.count()).toMatchObject({ issued: 2, rejected: 0, paused: [] });
    expect(names().filter((name) => name === "paused" || name === "resumed")).toEqual(["paused", "resumed"]);
    await run(worker.stop());
  });

  it("reports a pause of this process again when it gets another reason", async () => {
    const { outbox, signUp, weather, run, clock, outcomes } = openVirtualShop();
    await run(signUp("1"));
    const headers = { date: "Wed, 01 Jan 2020 00:00:00 GMT" };
    weather.push(401, Response.json({ type: "about:blank", status: 422 }, { status: 422, headers }));
    await run(outbox.issue(1));
    await clock.pass(10_000);
    expect(await run(outbox.issue(1))).toMatchObject({ state: "rejected" });
    const paused = outcomes.flatMap((each) => (each.outcome === "paused" ? [each.pause.reason] : []));
    expect(paused).toEqual(["unauthorized", "clock"]);
  });
});

describe("clocks", () => {
  it("pause this process when the service's differs by more than an hour", async () => {
    const { outbox, signUp, weather, run, clock, names } = openVirtualShop();
    const dated = (offsetMs: number) => async () =>
      Response.json(
        { id: `card_${offsetMs}`, publicUrl: "https://cards.example.com/c/1" },
        { status: 201, headers: { date: new Date(clock.now() + offsetMs).toUTCString() } },
      );
    await run(signUp("1"));
    weather.push(dated(-2 * hour));
    expect(await run(outbox.issue(1))).toMatchObject({ state: "issued" });
    await run(signUp("2"));
    expect(await run(outbox.issue(2))).toMatchObject({ state: "waiting", attempts: 0 });
    expect((await outbox.count()).paused).toMatchObject([{ reason: "clock" }]);
    weather.push(dated(0));
    await clock.pass(minute);
    expect(await run(outbox.issue(2))).toMatchObject({ state: "issued" });
    expect(names()).toEqual(["paused", "issued", "resumed", "issued"]);
  });

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

describe("an outbox of another service", () => {
  it("is refused when it is opened with another base URL or namespace", async () => {
    const network = createNetwork();
    const file = scratchFile();
    openShop(network, { file });
    const other = createNetwork({ baseUrl: "https://other.example.com" });
    expect(() => openShop(other, { file })).toThrow("another baseUrl");
    const clientOptions = { idempotencyNamespace: "staging" };
    expect(() => openShop(network, { file, clientOptions })).toThrow("another idempotencyNamespace");
  });

  // G24
  it("is refused at each lease after another process has migrated the tables", async () => {
    const { outbox, signUp, database, requests } = openShop();
    await signUp("1");
    database.exec("INSERT INTO issuing_outbox_schema (version) VALUES (2)");
    await expect(outbox.issue(1)).rejects.toThrow("version 2, and this process knows version 1");
    expect(requests).toEqual([]);
  });
});
