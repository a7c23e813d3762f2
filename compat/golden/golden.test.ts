/** Data that a release wrote is opened by these sources, and a user sees what the user of that release saw. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "@loyalty-cards/mock-server";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/sqlite";
import { verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { recordOutcomes } from "../../packages/webhook-inbox/test/outcomes.ts";
import {
  getFolder,
  getMigrations,
  getVersion,
  getVersions,
  type PackageName,
  packageNames,
  unreleased,
  writeGolden,
} from "./folders.ts";
import { inboxFile, newestKey, put, type ShownInbox, toEvent } from "./inbox.ts";
import { dataFile, issue, readView, type ShownMockServer, signUp } from "./mock-server.ts";
import {
  laterTemplate,
  openOutbox,
  outboxFile,
  type SentRequest,
  type ShownOutbox,
  template,
  toRequest,
} from "./outbox.ts";
import { readSchema } from "./sqlite.ts";

/** Not a version: what the sources write now. */
const sources = "the sources";
const written = mkdtempSync(join(tmpdir(), "golden-"));

beforeAll(async () => {
  for (const name of packageNames) await writeGolden(name, join(written, name));
  return () => rmSync(written, { recursive: true, force: true });
});

const versionsOf = (name: PackageName) => [...getVersions(name), sources];

/** Copies a folder of golden files. A test never opens the file that is committed. */
function copyFolder<Shown>(name: PackageName, version: string): { folder: string; shown: Shown } {
  const folder = mkdtempSync(join(tmpdir(), "golden-copy-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(version === sources ? join(written, name) : getFolder(name, version), folder, { recursive: true });
  return { folder, shown: JSON.parse(readFileSync(join(folder, "shown.json"), "utf8")) };
}

const hour = 3_600_000;
const toJson = (value: unknown) => JSON.parse(JSON.stringify(value));

async function toList<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe.each(versionsOf("webhook-inbox"))("the inbox of webhook-inbox %s", (version) => {
  function open() {
    const { folder, shown } = copyFolder<ShownInbox>("webhook-inbox", version);
    const nowMs = Date.parse(shown.at) + hour;
    const outcomes = recordOutcomes();
    const inbox = sqliteInbox({
      file: join(folder, inboxFile),
      onOutcome: outcomes.onOutcome,
      log: () => {},
      testing: { clock: { now: () => nowMs } },
    });
    onTestFinished(() => inbox.close({ graceMs: 0 }));
    return { inbox, shown, nowMs, until: outcomes.until };
  }

  it("has the same events", async () => {
    const { inbox, shown } = open();
    expect(toJson(await inbox.list())).toMatchObject(shown.entries);
    expect(await inbox.health()).toMatchObject({ isReachable: true, waiting: 3, dead: 1 });
  });

  it("recognizes duplicates, processed events and older events", async () => {
    const { inbox, nowMs } = open();
    for (const id of ["evt_done", "evt_failed", "evt_running", "evt_waiting"])
      expect(await put(inbox, toEvent(id), nowMs), id).toBe("duplicate");
    expect(await put(inbox, toEvent("evt_new"), nowMs)).toBe("stored");
    const marks = await inbox.write((database) => [
      markProcessed(database, toEvent("evt_done")),
      markProcessed(database, toEvent("evt_new")),
      isNewest(database, newestKey, { id: "evt_older", createdAt: "2025-12-31T23:59:59.999Z" }),
      isNewest(database, newestKey, { id: "evt_newer", createdAt: "2026-01-01T00:00:00.001Z" }),
    ]);
    expect(marks).toEqual([false, true, false, true]);
  });

  it("processes each waiting event once, and a dead letter after a replay", async () => {
    const { inbox, until } = open();
    const processed: unknown[] = [];
    inbox.work((event, { attempt }) => {
      processed.push([event, attempt]);
    });
    await until("done", 3);
    expect(processed).toHaveLength(3);
    expect(processed).toEqual(
      expect.arrayContaining([
        [toEvent("evt_failed"), 2],
        [toEvent("evt_running"), 2],
        [toEvent("evt_waiting"), 1],
      ]),
    );
    expect(await inbox.health()).toMatchObject({ waiting: 0, dead: 1 });
    expect(await inbox.replay("evt_dead")).toBe(true);
    await until("done", 4);
    expect(processed).toHaveLength(4);
  });
});

describe.each(versionsOf("issuing-outbox"))("the outbox of issuing-outbox %s", (version) => {
  type Respond = (request: SentRequest) => Response | undefined;

  function open(respond: Respond = () => undefined) {
    const { folder, shown } = copyFolder<ShownOutbox>("issuing-outbox", version);
    const startMs = Date.parse(shown.at) + hour;
    const opened = openOutbox(join(folder, outboxFile), startMs, [template, laterTemplate], respond);
    onTestFinished(() => opened.run(opened.outbox.close({ graceMs: 0 })));
    const keysOf = (state: string) =>
      shown.entries.filter((entry) => entry.state === state).map((entry) => entry.idempotencyKey);
    const toKey = (userId: string) => shown.entries.find((entry) => entry.userId === userId)?.idempotencyKey;
    return { ...opened, shown, keysOf, toKey };
  }

  it("has the same entries, users and pause", async () => {
    const { outbox, shown, run, readUsers } = open();
    expect(toJson(await run(toList(outbox.list())))).toMatchObject(shown.entries);
    expect(await readUsers()).toEqual(shown.users);
    const { paused } = await outbox.count();
    expect(paused.map((pause) => [pause.reason, pause.template])).toEqual([
      ["restored", undefined], // the copy is noticed
      ["template-not-found", laterTemplate],
    ]);
    for (const { userId, cardId } of shown.entries)
      if (typeof cardId === "string") expect(await outbox.findUser(cardId)).toBe(userId);
  });

  it("issues every waiting entry once, with the key of that version", async () => {
    const { outbox, run, sent, keysOf, shown, readUsers, issuedTo } = open();
    expect(await outbox.resume()).toBe(0);
    expect(await run(outbox.drain())).toMatchObject({
      waiting: 0,
      issued: 10,
      rejected: 1,
      unknown: 1,
      undelivered: 0,
      paused: [],
    });
    expect(sent.map(({ key }) => key).sort()).toEqual(keysOf("waiting").sort());
    // "undelivered" had a card, so only its callback is called.
    const expected = shown.entries.filter(
      (entry) => entry.state === "waiting" || entry.isDelivered === false,
    );
    expect([...issuedTo].sort()).toEqual(expected.map(({ userId }) => userId).sort());
    const users = (await readUsers()) as ShownOutbox["users"];
    const withoutCard = users.filter(({ card }) => card === null).map(({ id }) => id);
    expect(withoutCard).toEqual(["unknown", "rejected", "forgotten"]);
  });

  it("applies a correction when the service rejects the form that it may have received", async () => {
    let oldKey: unknown;
    const { outbox, run, sent, toKey } = open(({ key }) =>
      key === oldKey
        ? Response.json({ type: "about:blank", status: 422, detail: "No." }, { status: 422 })
        : undefined,
    );
    oldKey = toKey("corrected");
    await outbox.resume();
    await run(outbox.drain({ maxMs: hour }));
    const entry = await outbox.get("corrected");
    expect(entry).toMatchObject({ state: "issued" });
    expect(entry?.idempotencyKey).not.toBe(oldKey);
    const request = sent.find(({ key }) => key === entry?.idempotencyKey);
    expect(request?.body).toMatchObject(toRequest("+48600200001"));
  });

  it("lets a person decide rejected and unknown entries", async () => {
    const { outbox, run, toKey, sent } = open();
    await outbox.resume();
    await run(outbox.write((database) => outbox.correct(database, "rejected", toRequest("+48600200009"))));
    expect(await run(outbox.resolve("unknown", { cardId: "card_found" }))).toMatchObject({ state: "issued" });
    await run(outbox.drain());
    expect(await outbox.get("rejected")).toMatchObject({ state: "issued", isDelivered: true });
    expect(sent.map(({ key }) => key)).not.toContain(toKey("rejected")); // a 422 may be repeated for a key
    expect(sent.map(({ key }) => key)).not.toContain(toKey("unknown"));
  });

  it("does not add a forgotten user, or a user who has an entry", async () => {
    const { outbox, run } = open();
    const add = (userId: string) =>
      run(
        outbox.write((database) =>
          outbox.add(database, { userId, template, request: toRequest("+48600200010") }),
        ),
      );
    await expect(add("forgotten")).rejects.toThrow(/forgotten/);
    expect(await add("issued")).toBe("issued");
    expect(await add("known")).toBe("issued");
    expect(await add("never sent")).toBe("waiting");
  });
});

describe.each(versionsOf("mock-server"))("the data file of mock-server %s", (version) => {
  it("has the same data, repeats responses, and continues deliveries", async () => {
    const { folder, shown } = copyFolder<ShownMockServer>("mock-server", version);
    const delivered: unknown[] = [];
    const server = await startMockServer({
      data: join(folder, dataFile),
      clock: manualClock(),
      async deliver(request) {
        const signature = request.headers.get("service-signature");
        const rawBody = new Uint8Array(await request.arrayBuffer());
        const now = () => server.service.clock.now();
        delivered.push(verifyWebhookSync({ rawBody, signature, secret: shown.secret, now }));
        return new Response(null, { status: 204 });
      },
      log: () => {},
    });
    onTestFinished(server.close);
    const { service, url } = server;
    for (const [path, before] of Object.entries(shown.views))
      expect(await readView(url, path), path).toMatchObject(before as object);

    const { apiKey, idempotencyKey, request, cardId } = shown;
    expect(await issue(server, apiKey, idempotencyKey, request)).toMatchObject({ status: 503 }); // the fault
    expect(await issue(server, apiKey, idempotencyKey, request)).toEqual({ status: 201, id: cardId });
    // Another form with the same key: the content is compared, and a warning says so.
    expect(await issue(server, apiKey, idempotencyKey, signUp("+48600100299"))).toMatchObject({ id: cardId });
    expect(service.warnings()).toHaveLength(1);
    expect((await issue(server, apiKey, "golden-3", signUp("+48600100299"))).status).toBe(201);

    const [pending] = service.webhooks.deliveries({ state: "pending" });
    expect(await service.clock.runUntilIdle()).toMatchObject([{ status: 204 }]);
    expect(delivered).toMatchObject([{ id: pending?.eventId, type: "balance.changed" }]);
    expect(service.cards.purchase(cardId, { points: 10 })).toMatchObject({ balance: 110 });
    await service.idle();
    expect(delivered).toMatchObject([{}, { data: { passId: cardId, balance: 110 } }]);
  });
});

const databases = [
  ["webhook-inbox", inboxFile, "webhook_inbox_", "packages/webhook-inbox/src/sqlite/schema.ts"],
  ["issuing-outbox", outboxFile, "issuing_outbox_", "packages/issuing-outbox/src/schema.ts"],
] as const;

describe.each(databases)("the tables of %s", (name, file, prefix, source) => {
  it.each(getVersions(name))(
    "are the same in a new file and in one of %s after its migrations",
    (version) => {
      const { folder } = copyFolder(name, version);
      const path = join(folder, file);
      if (name === "webhook-inbox") sqliteInbox({ file: path, log: () => {} }).close();
      else
        openOutbox(path, Date.parse("2026-04-01T00:00:00.000Z"), [template], () => undefined).outbox.close();
      expect(
        readSchema(path, prefix),
        `A file of ${name} ${version} does not get the tables of a new file. Add a migration to ${source}, and leave the others as they were. ` +
          `If ${version} is not published yet, run "npm run release -- golden ${version} --overwrite" instead.`,
      ).toEqual(readSchema(join(written, name, file), prefix));
    },
  );

  it.each(getVersions(name))("have the migrations that %s published", (version) => {
    const published = join(getFolder(name, version), "migrations");
    for (const entry of readdirSync(published, { recursive: true, encoding: "utf8" }).sort()) {
      if (!entry.endsWith(".sql")) continue;
      const current = join(getMigrations(name), entry);
      expect(
        existsSync(current) && readFileSync(current, "utf8"),
        `Users have run migrations/${entry} of ${name} ${version}. Leave it as it was, and add a file with the next number. ` +
          `If ${version} is not published yet, run "npm run release -- golden ${version} --overwrite" instead.`,
      ).toBe(readFileSync(join(published, entry), "utf8"));
    }
  });
});

it.each(packageNames)("%s has golden files of its version", (name) => {
  const version = getVersion(name);
  if (version === unreleased) return;
  expect(
    getVersions(name),
    `Run "npm run release -- golden", and commit compat/golden/${name}/${version}.`,
  ).toContain(version);
});
