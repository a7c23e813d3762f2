/** A shop under judgement: the mock service, an empty database, the running program, its visitors and its members. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type MockServerOptions, startMockServer, type TrafficEvent } from "@loyalty-cards/mock-server/node";
import { requiredData } from "@loyalty-cards/openapi/events";
import { freePort } from "../../packages/webhook-inbox/test/own-redis.ts";
import { createDatabase, readSqlite } from "./database.ts";
import { type Page, readPage } from "./page.ts";
import { createProgram } from "./program.ts";
import { type Settings, SettingsError } from "./settings.ts";

/** How long a visitor waits for a response. */
const visitorTimeoutMs = 20_000;

const eventTypes = Object.keys(requiredData) as NonNullable<MockServerOptions["endpoints"]>[number]["events"];

export interface Visitor {
  name: string;
  email: string;
  phone: string;
  /** The hidden fields and the cookies of the page that the visitor has open. */
  page?: Page;
}

export interface Reply {
  /** Absent when the visitor got no response. */
  status?: number;
  text: string;
}

/** What the shop has stored for a member. */
export interface Member {
  card?: string | undefined;
  balance?: number | undefined;
  effects?: number | undefined;
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

/** @throws {SettingsError} when the program does not start. */
export async function openShop(folder: string, settings: Settings, env: NodeJS.ProcessEnv) {
  const temporary = mkdtempSync(join(tmpdir(), "loyalty-cards-judge-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const receiver = `${url}${settings.receiver}`;
  const watching = new Set<(event: TrafficEvent) => void>();
  const mock = await startMockServer({
    endpoints: [{ url: receiver, events: eventTypes }],
    ...(settings.seed && {
      templates: JSON.parse(readFileSync(join(folder, settings.seed), "utf8")).templates,
    }),
    storeRefusals: true, // as some services do
    log: () => {},
    onTraffic(_line, event) {
      for (const watch of watching) watch(event);
    },
  });
  const { service } = mock;
  const secrets = {
    "API key": service.apiKeys.website,
    "signing secret": service.endpoints[0]?.secret ?? "",
  };
  const file = join(temporary, "shop.db");
  const database = settings.database && (await createDatabase());
  const program = createProgram({
    command: settings.start,
    cwd: folder,
    port,
    log: join(temporary, "output.txt"),
    env: {
      ...env,
      LOYALTY_URL: mock.url,
      LOYALTY_API_KEY: secrets["API key"],
      LOYALTY_SIGNING_SECRET: secrets["signing secret"],
      LOYALTY_TEMPLATE_ID: service.templateId,
      SHOP_FILE: file,
      ...(database && { DATABASE_URL: database.url }),
    },
  });
  const exposed = new Set<string>();
  const visitors: Visitor[] = [];

  const findExposed = (text: string, where: string) => {
    for (const [name, secret] of Object.entries(secrets))
      if (text.includes(secret)) exposed.add(`the ${name} is in ${where}`);
  };

  /** @returns no status when the shop does not respond. */
  async function request(
    method: string,
    path: string,
    init: RequestInit = {},
  ): Promise<Reply & { headers?: Headers }> {
    try {
      const signal = AbortSignal.timeout(visitorTimeoutMs);
      const response = await fetch(`${url}${path}`, { method, redirect: "manual", signal, ...init });
      const text = await response.text();
      findExposed(text + JSON.stringify([...response.headers]), `the response to ${method} ${path}`);
      return { status: response.status, text, headers: response.headers };
    } catch {
      return { text: "" };
    }
  }

  /** Sends the form of a visitor, with the same hidden fields each time. A page that does not open has no form. */
  async function submit(
    visitor: Visitor,
    target: { method: string; path: string } = settings.signUp,
  ): Promise<Reply> {
    const { page, type, fields } = settings.signUp;
    if (page !== undefined && visitor.page === undefined) {
      const reply = await request("GET", page);
      if (reply.status !== 200) return reply;
      visitor.page ??= readPage(reply); // two forms at once belong to one page
    }
    const opened = visitor.page;
    const fill = (value: string) =>
      value.replace(/\{(name|email|phone)\}/g, (_all, name: "name" | "email" | "phone") => visitor[name]);
    const values: [string, string][] = [
      ...(opened?.hidden ?? []),
      ...Object.entries(fields).map(([name, value]): [string, string] => [name, fill(value)]),
    ];
    const headers: Record<string, string> = { origin: url };
    if (opened?.cookie) headers["cookie"] = opened.cookie;
    if (type === "json") headers["content-type"] = "application/json";
    const encode = {
      json: () => JSON.stringify(Object.fromEntries(values)),
      form: () => new URLSearchParams(values),
      multipart() {
        const form = new FormData();
        for (const [name, value] of values) form.append(name, value);
        return form;
      },
    };
    return request(target.method, target.path, { headers, body: encode[type]() });
  }

  /** @throws {SettingsError} when the path or the query does not return them. */
  async function readMembers(): Promise<Map<string, Member>> {
    const { members } = settings;
    let rows: unknown;
    if ("sql" in members) {
      rows = database ? await database.query(members.sql) : readSqlite(file, members.sql);
    } else {
      const { status, text } = await request("GET", members.path);
      if (status === undefined) return new Map(); // it is starting
      rows = status === 200 ? pick(parse(text), members.list) : undefined;
      if (!Array.isArray(rows))
        throw new SettingsError(
          `members: GET ${members.path} responded ${status} without a list of members.`,
        );
    }
    const names =
      "sql" in members ? { email: "email", card: "card", balance: "balance", effects: "effects" } : members;
    const toNumber = (value: unknown) => (value === null || value === undefined ? undefined : Number(value));
    return new Map(
      (rows as unknown[]).map((row) => [
        String(pick(row, names.email)).toLowerCase(),
        {
          card: (pick(row, names.card) as string | null) ?? undefined,
          balance: toNumber(pick(row, names.balance)),
          effects: toNumber(pick(row, names.effects)),
        },
      ]),
    );
  }

  await program.start().catch(async (error) => {
    await close();
    throw error;
  });

  async function close(): Promise<void> {
    await program.kill();
    await mock.close();
    await database?.drop();
    rmSync(temporary, { recursive: true });
  }

  return {
    url,
    receiver,
    service,
    secret: secrets["signing secret"],
    settings,
    visitors,
    request,
    submit,
    readMembers,
    close,
    hasEnded: program.hasEnded,
    /** Kills the program and starts it again. */
    async restart(): Promise<void> {
      await program.kill();
      await program.start();
    },
    /** Where the API key or the signing secret was seen. */
    listExposed(): string[] {
      for (const { attempts } of service.webhooks.deliveries())
        for (const { responseBody = "" } of attempts) findExposed(responseBody, "a response of the receiver");
      findExposed(program.readLog(), "the output of the program");
      return [...exposed];
    },
    /** Somebody who has not been here before. */
    createVisitor(): Visitor {
      const number = String(visitors.length + 1).padStart(3, "0");
      const visitor = {
        name: `Visitor ${number}`,
        email: `visitor${number}@example.com`,
        phone: `+48600100${number}`,
      };
      visitors.push(visitor);
      return visitor;
    },
    /** The ids of a visitor's cards in the service. */
    readCards({ email, phone }: Visitor): string[] {
      const { customers } = service.snapshot().state as {
        customers: Map<string, { email?: string; phone?: string; cardIds: string[] }>;
      };
      const own = [...customers.values()].filter((each) => each.email === email || each.phone === phone);
      return own.flatMap(({ cardIds }) => cardIds);
    },
    /** Resolves at the event of this number that matches, or after the limit. */
    async waitForTraffic(
      matches: (event: TrafficEvent) => boolean,
      count: number,
      limitMs: number,
    ): Promise<void> {
      let left = count;
      const limit = new AbortController();
      await new Promise<void>((resolve) => {
        function watch(event: TrafficEvent) {
          if (matches(event)) left -= 1;
          if (left <= 0) end();
        }
        function end() {
          watching.delete(watch);
          limit.abort();
          resolve();
        }
        watching.add(watch);
        pause(limitMs, undefined, { signal: limit.signal }).then(end, () => {});
      });
    },
  };
}

/** Reads until the value is as expected or the time is over. @returns the last value. */
export async function readUntil<Value>(
  read: () => Promise<Value>,
  isExpected: (value: Value) => boolean,
  limitMs: number,
): Promise<Value> {
  const endsAtMs = performance.now() + limitMs;
  for (;;) {
    const value = await read();
    if (isExpected(value) || performance.now() > endsAtMs) return value;
    await pause(100);
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The value at a path such as `card.id`; the whole value for an empty path. */
function pick(value: unknown, path: string): unknown {
  let at = value;
  for (const name of path.split(".").filter(Boolean))
    at = (at as Record<string, unknown> | null | undefined)?.[name];
  return at;
}
