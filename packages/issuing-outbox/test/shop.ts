/**
 * A shop for the tests: users and an outbox in a temporary file, in front of the mock service over
 * a network that a test can break.
 */
import {
  type OpenSqlite,
  openSqlite,
  type SqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import {
  createIssuingClient,
  type IssueCardRequest,
  type IssuingClientOptions,
} from "@loyalty-cards/issuing-client";
import {
  createMockService,
  type ManualClock,
  type MockServiceOptions,
  manualClock,
} from "@loyalty-cards/mock-server";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { createVirtualClock } from "@loyalty-cards/testing/virtual-clock";
import { onTestFinished } from "vitest";
import { type OutboxOutcome, type SqliteOutboxOptions, sqliteOutbox } from "../src/index.ts";

export const templateId = "tpl_members";

/** What the network does with one request. */
export type Weather =
  /** The service responds. */
  | "ok"
  /** The service issues the card, and its response is lost. */
  | "lost"
  /** The connection is refused: nothing is received. */
  | "refused"
  /** The response has this status, and the service has done nothing. */
  | number
  | Response
  | (() => Promise<Weather>);

const networkError = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });

type Sent = Parameters<NonNullable<IssuingClientOptions["fetch"]>>[1];

/** The mock service behind a network. Requests are `ok` when no weather is left. */
export function createNetwork(options: MockServiceOptions = {}) {
  /** Of the service: a key that was used for two forms. */
  const warnings: string[] = [];
  const service = createMockService({
    templates: [{ id: templateId, name: "Members", fields: [] }],
    clock: manualClock(),
    log: (line) => void warnings.push(line),
    ...options,
  });
  const weather: Weather[] = [];
  const requests: { key: string; body: string }[] = [];
  /** Cards of the service, replays included, by the body that was sent. */
  const cards: { body: string; cardId: string }[] = [];
  async function fetch(url: string, init: Sent): Promise<Response> {
    const body = init.body ?? "";
    requests.push({ key: init.headers["idempotency-key"] ?? "", body });
    let now: Weather = weather.shift() ?? "ok";
    while (typeof now === "function") now = await now();
    if (now instanceof Response) return now;
    if (now === "refused") throw networkError("ECONNREFUSED");
    if (typeof now === "number")
      return Response.json({ type: "about:blank", status: now }, { status: now });
    const response = await service.fetch(new Request(url, init));
    if (response.status === 201)
      cards.push({ body, cardId: ((await response.clone().json()) as { id: string }).id });
    if (now === "lost") throw networkError("ECONNRESET");
    return response;
  }
  const createClient = (clientOptions: Partial<IssuingClientOptions> = {}) =>
    createIssuingClient({
      baseUrl: service.baseUrl,
      apiKey: service.apiKeys.website,
      fetch,
      ...clientOptions,
    });
  return { service, weather, requests, cards, warnings, fetch, createClient };
}

export const toRequest = (contact: { phone?: string; email?: string } = {}): IssueCardRequest => ({
  customer: { ...contact, consents: { privacy: { version: "2026-01" } } },
});

let lastPhone = 48_600_000_000;
const nextPhone = () => `+${++lastPhone}`;

/** What `add` takes for a user with a phone of their own. */
export const toEntry = (userId: number | string) => ({
  userId,
  template: templateId,
  request: toRequest({ phone: nextPhone() }),
});
export const toEntries = (count: number) =>
  Array.from({ length: count }, (_, userId) => toEntry(userId));

export interface ShopOptions extends Partial<SqliteOutboxOptions> {
  clientOptions?: Partial<IssuingClientOptions>;
}

/**
 * Opens a file that does not wait for the disk at each commit: tests in virtual time have
 * thousands.
 */
export const openWithoutSync: OpenSqlite = (file) => {
  const database = openSqlite(file);
  const exec = database.exec.bind(database);
  database.exec = (sql) => exec(sql.replace("synchronous = FULL", "synchronous = OFF"));
  return database;
};

/**
 * A shop whose waiting takes no time. The service, the client and the outbox have the same clock.
 */
export function openVirtualShop(options: ShopOptions = {}) {
  const clock = createVirtualClock();
  const serviceClock: ManualClock = { now: clock.now, moveTo: () => {} };
  const network = createNetwork({ clock: serviceClock });
  const clientOptions = { testing: { clock, random: () => 0.5 }, ...options.clientOptions };
  const shop = openSqliteShop(network, {
    testing: { random: () => 0.5 },
    open: openWithoutSync,
    ...options,
    clientOptions,
  });
  /** Runs work in virtual time. */
  const run = <Result>(work: Promise<Result>) => clock.run(work);
  return { ...shop, clock, clientOptions, run };
}

/** Opens an outbox on the network, in a file with a table of users. */
export function openSqliteShop(
  network = createNetwork(),
  { clientOptions, ...options }: ShopOptions = {},
) {
  const outcomes: OutboxOutcome[] = [];
  const lines: string[] = [];
  const file = options.file ?? scratchFile();
  const outbox = sqliteOutbox({
    client: network.createClient(clientOptions),
    file,
    onIssued: ({ userId, cardId }, database) => {
      database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
    },
    onOutcome: (outcome) => outcomes.push(outcome),
    log: (line) => lines.push(line),
    ...options,
  });
  onTestFinished(() => outbox.close({ graceMs: 0 }));
  const database: SqliteDatabase & { close(): unknown } = openSqlite(file);
  onTestFinished(() => void database.close());
  database.exec("CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, card TEXT)");

  /** Saves a user and adds the entry. */
  const signUp = (userId: string, request = toRequest({ phone: nextPhone() })) =>
    outbox.write((own) => {
      own.prepare("INSERT INTO users (id) VALUES (?)").run(userId);
      return outbox.add(own, { userId, template: templateId, request });
    });
  const getUserCard = (userId: string) =>
    (database.prepare("SELECT card FROM users WHERE id = ?").get(userId) as { card: string | null })
      .card;
  /** Names of outcomes, such as `issued`. */
  const names = () => outcomes.map(({ outcome }) => outcome);
  return { ...network, outbox, file, database, outcomes, lines, names, signUp, getUserCard };
}
