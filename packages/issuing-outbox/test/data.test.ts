/** What an outbox stores about people, and when it is erased. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { openWatched } from "@loyalty-cards/testing/sqlite-files";
import { describe, expect, it } from "vitest";
import { sqliteOutbox } from "../src/index.ts";
import { createNetwork, openSqliteShop, openVirtualShop, templateId, toRequest } from "./shop.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** All bytes of the file and of its log. */
const readFiles = (file: string) =>
  [file, `${file}-wal`, `${file}-shm`]
    .filter((each) => existsSync(each))
    .map((each) => readFileSync(each, "latin1"))
    .join("");

const form = toRequest({ phone: "+48600123456", email: "anna.kowalska@example.com" });
const traces = /600123456|kowalska/;

describe("personal data", () => {
  it("is gone from the file and its log after the card is issued", async () => {
    const { outbox, file, database, signUp } = openSqliteShop();
    await signUp("1", form);
    expect(readFiles(file)).toMatch(traces);
    await outbox.drain();
    await outbox.close();
    expect(readFiles(file)).not.toMatch(traces);
    expect(database.prepare("SELECT body FROM issuing_outbox_entries_bodies").all()).toEqual([]);
  });

  it("stays in the log while another connection reads, for which the process does not wait", async () => {
    const statements: string[] = [];
    const open = openWatched((sql) => statements.push(sql));
    const { outbox, database, signUp } = openSqliteShop(createNetwork(), { open });
    await signUp("1", form);
    database.exec("BEGIN; SELECT count(*) FROM users");
    await outbox.drain();
    const checkpoints = statements.flatMap((sql, index) =>
      sql.includes("wal_checkpoint") ? [index] : [],
    );
    expect(checkpoints).not.toEqual([]);
    for (const index of checkpoints) expect(statements[index - 1]).toBe("PRAGMA busy_timeout = 0");
    expect(statements.filter((sql) => sql.includes("busy_timeout")).at(-1)).toBe(
      "PRAGMA busy_timeout = 5000",
    );
    database.exec("COMMIT");
  });

  it("is gone too when the program's own connection has added and corrected it", async () => {
    const { outbox, file, database } = openSqliteShop();
    database.exec("BEGIN IMMEDIATE");
    for (let userId = 0; userId < 50; userId++)
      outbox.add(database, {
        userId,
        template: templateId,
        request: toRequest({ email: `anna.kowalska+${userId}@example.com` }),
      });
    database.exec("COMMIT");
    database.exec("BEGIN IMMEDIATE");
    for (let userId = 0; userId < 50; userId++)
      outbox.correct(database, userId, toRequest({ email: `jan.nowak+${userId}@example.com` }));
    database.exec("COMMIT");
    expect(await outbox.drain()).toMatchObject({ issued: 50 });
    await outbox.close();
    expect(readFiles(file)).not.toMatch(/kowalska|nowak/);
  });

  it("is erased by close after the program's own connection has corrected a form while nothing was due", async () => {
    const { outbox, file, database, signUp, weather } = openSqliteShop();
    await signUp("1", form);
    weather.push(new Response(null, { status: 429, headers: { "retry-after": "900" } }));
    await outbox.issue(1);
    await outbox.drain(); // nothing is due
    const correct = (request: typeof form) => {
      database.exec("BEGIN IMMEDIATE");
      outbox.correct(database, 1, request);
      database.exec("COMMIT");
    };
    correct(toRequest({ email: "jan.nowak@example.com" }));
    correct(toRequest({ email: "jan@example.com" }));
    await outbox.close();
    expect(readFiles(file)).not.toMatch(/nowak/);
  });

  it("of rejected entries is erased after the retention, and correct takes a new form then", async () => {
    const { outbox, file, signUp, weather, run, clock } = openVirtualShop({ retentionDays: 1 });
    await run(signUp("1", form));
    weather.push(
      Response.json({ status: 422, detail: "+48600123456 is not valid." }, { status: 422 }),
    );
    expect(await run(outbox.drain())).toMatchObject({ rejected: 1 });
    await clock.pass(day + hour);
    await run(outbox.drain());
    expect(readFiles(file)).not.toMatch(traces);
    await expect(run(outbox.retry(1))).rejects.toThrow("erased after the retention");
    expect(await run(outbox.write((own) => outbox.correct(own, 1, form)))).toBe("accepted");
    expect(await run(outbox.drain())).toMatchObject({ issued: 1 });
  });

  it("of a rejected entry is erased also while onRejected fails, which gets the error until it succeeds", async () => {
    const errors: unknown[] = [];
    let isMailDown = true;
    const { outbox, file, signUp, weather, run, clock } = openVirtualShop({
      retentionDays: 1,
      onRejected: ({ error }) => {
        errors.push(error.code);
        if (isMailDown) throw new Error("The mail server is down.");
      },
    });
    await run(signUp("1", form));
    weather.push(Response.json({ status: 422, detail: "Invalid." }, { status: 422 }));
    await run(outbox.drain());
    const worker = outbox.work({ pollMs: hour });
    await clock.pass(2 * day);
    expect(readFiles(file)).not.toMatch(traces);
    isMailDown = false;
    await clock.pass(day);
    await run(worker.stop());
    expect(new Set(errors)).toEqual(new Set(["validation"]));
    expect(await outbox.get(1)).toMatchObject({ state: "rejected", isDelivered: true });
  });

  // G8
  it("is in no outcome, log line or error", async () => {
    const { outbox, signUp, weather, run, outcomes, lines } = openVirtualShop({
      onIssued: () => {
        throw new Error("anna.kowalska@example.com exists");
      },
    });
    await run(signUp("1", form));
    weather.push(Response.json({ status: 503, detail: "+48600123456" }, { status: 503 }), "lost");
    await run(outbox.issue(1));
    expect(lines.join()).not.toMatch(traces);
    expect(JSON.stringify(outcomes)).not.toMatch(traces);
  });
});

describe("forget", () => {
  it("deletes an entry that was never sent, and the user can be added again", async () => {
    const { outbox, file, signUp } = openSqliteShop();
    await signUp("1", form);
    expect(await outbox.forget(1)).toBe(true);
    expect(await outbox.forget(1)).toBe(false);
    expect(await outbox.get(1)).toBeUndefined();
    expect(
      await outbox.write((own) =>
        outbox.add(own, { userId: 1, template: templateId, request: form }),
      ),
    ).toBe("added");
    await outbox.forget(1);
    await outbox.close();
    expect(readFiles(file)).not.toMatch(traces);
  });

  it("reports the card that arrives while the user is forgotten", async () => {
    const { outbox, signUp, weather, run, outcomes, clock } = openVirtualShop();
    await run(signUp("1", form));
    weather.push(() => clock.wait(1_000));
    const issuing = outbox.issue(1).catch((error: Error) => error.message);
    await clock.pass(500);
    await run(outbox.forget(1));
    expect(await run(issuing)).toContain("no committed entry");
    expect(outcomes).toMatchObject([{ outcome: "forgotten-card", cardId: expect.any(String) }]);
  });

  it("reports it too when the user was added again for another card, which is issued", async () => {
    const { outbox, signUp, weather, run, outcomes, cards, clock } = openVirtualShop();
    await run(signUp("1", form));
    weather.push(() => clock.wait(1_000));
    const issuing = run(outbox.issue(1));
    await clock.pass(500);
    await outbox.forget(1);
    const request = toRequest({ email: "jan.nowak@example.com" });
    await outbox.write((own) =>
      outbox.add(own, { userId: 1, template: templateId, request, keySuffix: "again" }),
    );
    await issuing;
    const entry = await run(outbox.issue(1));
    expect(outcomes).toMatchObject([
      { outcome: "forgotten-card", cardId: cards[0]?.cardId },
      { outcome: "issued", cardId: cards[1]?.cardId },
    ]);
    expect(entry.cardId).toBe(cards[1]?.cardId);
  });
});

describe("the file", () => {
  it("is its owner's only when the outbox creates it, at first use, and keeps its mode when it exists", async () => {
    const file = scratchFile();
    const client = createNetwork().createClient();
    const outbox = sqliteOutbox({ client, file });
    expect(existsSync(file)).toBe(false);
    await outbox.count();
    await outbox.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const known = scratchFile();
    writeFileSync(known, "", { mode: 0o644 });
    await openSqliteShop(undefined, { file: known }).outbox.count();
    expect(statSync(known).mode & 0o777).toBe(0o644);
  });
});
