/** What an outbox stores about people, when it is erased, and what a copy of the file does. */
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openShop, openVirtualShop, scratchFile, template, toRequest } from "./shop.ts";

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
    const { outbox, file, database, signUp } = openShop();
    await signUp("1", form);
    expect(readFiles(file)).toMatch(traces);
    await outbox.drain();
    await outbox.close();
    expect(readFiles(file)).not.toMatch(traces);
    expect(database.prepare("SELECT count(*) AS rows FROM issuing_outbox_requests").get()).toMatchObject({
      rows: 0,
    });
  });

  it("is gone too when the program's own connection has added and corrected it", async () => {
    const { outbox, file, database } = openShop();
    database.exec("BEGIN IMMEDIATE");
    for (let userId = 0; userId < 50; userId++)
      outbox.add(database, {
        userId,
        template,
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
    const { outbox, file, database, signUp, weather } = openShop();
    await signUp("1", form);
    weather.push(new Response(null, { status: 503, headers: { "retry-after": "900" } }));
    await outbox.issue(1);
    await outbox.drain(); // paused: nothing is due
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
    weather.push(Response.json({ status: 422, detail: "+48600123456 is not valid." }, { status: 422 }));
    expect(await run(outbox.drain())).toMatchObject({ rejected: 1 });
    await clock.pass(day + hour);
    await run(outbox.drain());
    expect(readFiles(file)).not.toMatch(traces);
    await expect(run(outbox.retry(1))).rejects.toThrow("erased after the retention");
    expect(await run(outbox.write((own) => outbox.correct(own, 1, form)))).toBe("accepted");
    expect(await run(outbox.drain())).toMatchObject({ issued: 1 });
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

  it("is hashed with a key of each outbox", async () => {
    const first = openShop();
    const second = openShop();
    await first.signUp("1", form);
    await second.signUp("1", form);
    const read = ({ database }: typeof first) =>
      (database.prepare("SELECT phone FROM issuing_outbox_requests").get() as { phone: string }).phone;
    expect(read(first)).not.toBe(read(second));
  });
});

describe("forget", () => {
  it("deletes an entry that was never sent, and the user can be added again", async () => {
    const { outbox, file, signUp } = openShop();
    await signUp("1", form);
    expect(await outbox.forget(1)).toBe(true);
    expect(await outbox.forget(1)).toBe(false);
    expect(await outbox.get(1)).toBeUndefined();
    expect(await outbox.write((own) => outbox.add(own, { userId: 1, template, request: form }))).toBe(
      "added",
    );
    await outbox.forget(1);
    await outbox.close();
    expect(readFiles(file)).not.toMatch(traces);
  });

  it("refuses the user for the retention when a request may have been received", async () => {
    const { outbox, signUp, weather, run, clock } = openVirtualShop({ retentionDays: 2 });
    await run(signUp("1", form));
    weather.push("lost");
    await run(outbox.issue(1, { deadlineMs: 100 }));
    expect(await run(outbox.forget(1))).toBe(true);
    const add = () => run(outbox.write((own) => outbox.add(own, { userId: 1, template, request: form })));
    await expect(add()).rejects.toThrow("was forgotten");
    const list = [1, 2].map((userId) => ({ userId, template, request: form }));
    expect(await run(outbox.addAll(list))).toEqual({ added: 1, known: 1 });
    await clock.pass(2 * day + hour);
    await run(outbox.drain());
    expect(await add()).toBe("added");
  });

  it("reports the card that arrives while the user is forgotten", async () => {
    const { outbox, signUp, weather, run, outcomes, clock } = openVirtualShop();
    await run(signUp("1", form));
    weather.push(async () => {
      await new Promise<void>((resolve) => clock.after(1_000, resolve));
      return "ok";
    });
    const issuing = outbox.issue(1).catch((error: Error) => error.message);
    await run(new Promise<void>((resolve) => clock.after(500, resolve)));
    await run(outbox.forget(1));
    expect(await run(issuing)).toContain("no committed entry");
    expect(outcomes).toMatchObject([{ outcome: "forgotten-card", cardId: expect.any(String) }]);
    await run(signUp("2", form)); // nothing waits for the contact of the forgotten user
    expect(await run(outbox.issue(2, { deadlineMs: 100 }))).toMatchObject({ state: "issued" });
  });
});

describe("the file", () => {
  it("is its owner's only when the outbox creates it, and keeps its mode when it exists", () => {
    const created = openShop();
    expect(statSync(created.file).mode & 0o777).toBe(0o600);
    const file = scratchFile();
    writeFileSync(file, "", { mode: 0o644 });
    openShop(undefined, { file });
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  // G25
  it.each([
    [hour, 0, 2],
    [30 * hour, 2, 0],
  ])(
    "waits for a person when it is a copy; %i ms later %i entries are unknown",
    async (ageMs, unknown, issued) => {
      const original = openVirtualShop();
      await original.run(original.signUp("1"));
      await original.run(original.signUp("2"));
      await original.run(original.outbox.close());
      const file = scratchFile("copy.db");
      copyFileSync(original.file, file);
      await original.clock.pass(ageMs);
      const { requests, clientOptions } = original;
      const copy = openShop(original, { file, clientOptions });
      const { run } = original;
      expect(await run(copy.outbox.drain())).toMatchObject({ waiting: 2, paused: [{ reason: "restored" }] });
      expect(await run(copy.outbox.issue(1))).toMatchObject({ state: "waiting" });
      expect(copy.names()).toEqual(["paused"]);
      expect(requests).toEqual([]);
      expect(await run(copy.outbox.resume())).toBe(unknown);
      expect(await run(copy.outbox.drain())).toMatchObject({ unknown, issued, paused: [] });
    },
  );
});
