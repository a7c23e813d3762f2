/** The outbox of a golden folder: an entry in every state, written while a request is running. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient, type IssueCardRequest } from "@loyalty-cards/issuing-client";
import { type OutboxEntry, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { createMockService, type ManualClock } from "@loyalty-cards/mock-server";
import { createVirtualClock } from "../../packages/issuing-outbox/test/virtual-clock.ts";
import { copyDatabase } from "./sqlite.ts";

export const outboxFile = "outbox.db";
export const template = "tpl_members";
/** The template of the entry whose pause is stored. The service of the writer does not have it. */
export const laterTemplate = "tpl_later";

/** What a user of the version that wrote the file saw. */
export interface ShownOutbox {
  at: string;
  entries: Record<keyof OutboxEntry, unknown>[];
  users: { id: string; card: string | null }[];
}

export interface SentRequest {
  key: string;
  body: IssueCardRequest;
}

export const toRequest = (phone: string): IssueCardRequest => ({
  customer: { phone, consents: { privacy: { version: "2026-01" } } },
});

/**
 * An outbox on a file, in front of a mock service. Both have the same virtual clock.
 * @param respond responds instead of the service when it returns a response.
 */
export function openOutbox(
  file: string,
  startMs: number,
  templates: readonly string[],
  respond: (request: SentRequest, signal: AbortSignal) => Response | undefined | Promise<Response>,
) {
  const clock = createVirtualClock(startMs);
  const serviceClock: ManualClock = { now: clock.now, moveTo: () => {} };
  let lastId = 0;
  const service = createMockService({
    templates: templates.map((id) => ({ id, name: "Members", fields: [] })),
    clock: serviceClock,
    testing: { generateId: (prefix) => `${prefix}_${startMs}${++lastId}` },
  });
  const sent: SentRequest[] = [];
  const issuedTo: string[] = [];
  let failingUser: string | undefined;
  const client = createIssuingClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKeys.website,
    idempotencyNamespace: "",
    testing: { clock, random: () => 0.5 },
    async fetch(input, init) {
      const request = new Request(input, init);
      const { signal } = request;
      const key = request.headers.get("idempotency-key") ?? "";
      const each = { key, body: (await request.clone().json()) as IssueCardRequest };
      sent.push(each);
      return (await respond(each, signal)) ?? service.fetch(request);
    },
  });
  const outbox = sqliteOutbox({
    client,
    file,
    onIssued({ userId, cardId }, database) {
      if (userId === failingUser) throw new Error("The callback fails.");
      database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
      issuedTo.push(userId);
    },
    log: () => {},
    testing: { random: () => 0.5 },
  });
  return {
    outbox,
    clock,
    sent,
    /** The users of whom the callback succeeded. */
    issuedTo,
    run: <Result>(work: Promise<Result>) => clock.run(work),
    readUsers: () =>
      clock.run(
        outbox.write((database) => database.prepare("SELECT id, card FROM users ORDER BY rowid").all()),
      ),
    /** The callback of this user throws. */
    failCallbackOf(userId: string) {
      failingUser = userId;
    },
  };
}

const hour = 3_600_000;

/** The service received the request, and the response says nothing about a card: the request may have been processed. */
const unclear = () => new Response(null, { status: 202 });
const rejection = () =>
  Response.json(
    { type: "about:blank", status: 422, detail: "The phone is not valid." },
    { status: 422, headers: { "content-type": "application/problem+json" } },
  );

/** No file has the number 0, so every process that opens the copy notices that it is one; and no process has this lease. */
const asFromElsewhere = `PRAGMA secure_delete = ON;
  UPDATE issuing_outbox_settings SET place = '0';
  UPDATE issuing_outbox_entries SET lease = '1_1_elsewhere_' || substr(lease, -36);
  UPDATE issuing_outbox_contact_locks SET lease = '1_1_elsewhere_' || substr(lease, -36);`;

export async function writeOutbox(folder: string): Promise<ShownOutbox> {
  const scratch = mkdtempSync(join(tmpdir(), "golden-outbox-"));
  const file = join(scratch, outboxFile);
  let respond: Parameters<typeof openOutbox>[3] = () => undefined;
  const startMs = Date.parse("2026-03-01T12:00:00.000Z");
  const opened = openOutbox(file, startMs, [template], (request, signal) => respond(request, signal));
  const { outbox, clock, run, readUsers } = opened;
  let lastPhone = 48_600_100_000;
  const signUp = (userId: string, templateId = template, phone = `+${++lastPhone}`) =>
    run(
      outbox.write((database) => {
        database.prepare("INSERT INTO users (id) VALUES (?)").run(userId);
        outbox.add(database, { userId, template: templateId, request: toRequest(phone) });
      }),
    );
  /** Adds an entry, and makes one attempt. */
  async function attempt(userId: string, response: () => Response | undefined, templateId?: string) {
    await signUp(userId, templateId);
    respond = response;
    await run(outbox.issue(userId, { deadlineMs: 100 }));
  }

  await run(outbox.write((database) => database.exec("CREATE TABLE users (id TEXT PRIMARY KEY, card TEXT)")));
  await attempt("unknown", unclear);
  await clock.pass(24 * hour);
  await run(outbox.drain());

  await attempt("issued", () => undefined);
  opened.failCallbackOf("undelivered");
  await attempt("undelivered", () => undefined);
  await attempt("rejected", rejection);
  await attempt("forgotten", unclear);
  await run(outbox.forget("forgotten"));
  await attempt("may have been sent", unclear);
  await attempt("corrected", unclear);
  await run(outbox.write((database) => outbox.correct(database, "corrected", toRequest("+48600200001"))));
  await attempt("paused", () => undefined, laterTemplate);
  await run(
    outbox.write((database) => outbox.add(database, { userId: "known", template, cardId: "card_before" })),
  );
  await signUp("never sent");
  await run(outbox.addAll([{ userId: "of a list", template, request: toRequest("+48600200002") }]));

  const phone = "+48600200003";
  await signUp("running", template, phone);
  await signUp("same phone", template, phone);
  const isSent = new Promise<void>((resolve) => {
    respond = (_request, signal) => {
      resolve();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
  });
  const running = outbox.issue("running");
  await run(isSent);
  await run(outbox.issue("same phone", { deadlineMs: 100 }));

  const entries: unknown[] = [];
  for await (const entry of outbox.list()) entries.push(entry);
  const users = (await readUsers()) as ShownOutbox["users"];
  const at = new Date(clock.now()).toISOString();
  copyDatabase(file, join(folder, outboxFile), asFromElsewhere);
  await run(Promise.all([outbox.close({ graceMs: 0 }), running]));
  rmSync(scratch, { recursive: true });
  return { at, entries: entries as ShownOutbox["entries"], users };
}
