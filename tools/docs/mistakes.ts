/** Runs the mistakes of docs/guides/common-mistakes.md, and writes the messages that the packages print into that page, each with a link to its error page. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import {
  cardLinks,
  createIssuingClient,
  type IssueCardOptions,
  type IssueCardRequest,
  ProblemError,
} from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { onEvents, type ReceiverOptions, signWebhookSync } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { build } from "esbuild";
import express from "express";
import { readFromRoot } from "./snippets.ts";

const file = "docs/guides/common-mistakes.md";
const consents = { privacy: { version: "2026-01" } };
const secret = "whsec_1";
const timestamp = 1_800_000_000;
const rawBody = '{"id":"evt_1","type":"ping","createdAt":"2027-01-15T08:00:00.000Z","data":{}}';

/** Returns the message of the thrown error, and for a 422 the messages of the service. @throws when nothing is thrown. */
async function catchMessage(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "validation") return (error as Error).message;
    const [first] = (error.problem["errors"] ?? []) as { rule?: string }[];
    return `${error.message}\nuserMessage: ${error.userMessage}\nproblem.errors[0].rule: ${first?.rule}`;
  }
  throw new Error("The mistake was not rejected.");
}

const createClient = ({ url, service }: MockServer, apiKey = service.apiKeys.website) =>
  createIssuingClient({ baseUrl: url, apiKey, idempotencyNamespace: "docs" });

/** Issues a card with the wrong values and returns the message of the error. */
async function issueWrongly(
  change: Partial<IssueCardRequest> & { apiKey?: string; template?: string; options?: IssueCardOptions } = {},
): Promise<string> {
  const mock = await startMockServer({ templates: [{ id: "tpl_bakery", name: "Bakery" }] });
  const { apiKey, template = "tpl_bakery", customer = { consents }, options = { userId: 1 } } = change;
  try {
    return await catchMessage(() => createClient(mock, apiKey).issueCard(template, { customer }, options));
  } finally {
    await mock.close();
  }
}

/** Sends a delivery that was signed at `timestamp` and returns the lines that the receiver logs. */
async function receiveAndLog(options: Partial<ReceiverOptions>): Promise<string> {
  const lines: string[] = [];
  const log = (...texts: unknown[]) => void lines.push(texts.join(" "));
  const receive = fetchReceiver({ secret, now: () => timestamp * 1000, handler: () => {}, log, ...options });
  await receive(new Request("https://shop.example/webhooks", createDelivery()));
  return lines.join("\n");
}

function createDelivery(): { method: string; headers: Record<string, string>; body: string } {
  const signature = signWebhookSync({ rawBody, secret, timestamp });
  const headers = { "content-type": "application/json", "service-signature": signature };
  return { method: "POST", headers, body: rawBody };
}

async function parseBeforeReceiver(): Promise<string> {
  const lines: string[] = [];
  const app = express();
  app.use(express.json());
  app.post(
    "/webhooks/loyalty",
    expressReceiver({ secret, now: () => timestamp * 1000, log: (line: string) => void lines.push(line) }),
  );
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  await fetch(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/loyalty`,
    createDelivery(),
  );
  server.close();
  server.closeAllConnections();
  return lines.join("\n");
}

async function runInBrowser(): Promise<string> {
  const contents =
    'import { createIssuingClient } from "@loyalty-cards/issuing-client"; createIssuingClient();';
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL("../../examples", import.meta.url)) },
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    conditions: ["@loyalty-cards/source"],
  });
  // The globals of a browser, without those of Node.
  return catchMessage(() =>
    runInNewContext(outputFiles[0]?.text ?? "", { document: {}, URL, TextEncoder, console }),
  );
}

async function forgetAwait(): Promise<string> {
  const mock = await startMockServer();
  const card = createClient(mock).issueCard(
    mock.service.templateId,
    { customer: { consents } },
    { userId: 1 },
  );
  try {
    // @ts-expect-error TypeScript reports it too
    return await catchMessage(() => cardLinks(card));
  } finally {
    await card;
    await mock.close();
  }
}

/** Makes a mistake with an outbox in a file of its own. */
async function misuseOutbox(
  make: (outbox: ReturnType<typeof sqliteOutbox>, file: string) => unknown,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-mistakes-"));
  const file = join(folder, "shop.db");
  const client = createIssuingClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key" });
  const outbox = sqliteOutbox({ client, file });
  try {
    return await catchMessage(() => make(outbox, file));
  } finally {
    await outbox.close();
    rmSync(folder, { recursive: true });
  }
}

/** The warning of the mock service; the client accepts any field. */
async function misspellField(): Promise<string> {
  const lines: string[] = [];
  const fields = [{ key: "name", type: "name" as const, required: false }];
  const mock = await startMockServer({
    templates: [{ id: "tpl_bakery", name: "Bakery", fields }],
    log: (line) => void lines.push(line),
  });
  try {
    const request = { fieldValues: { nmae: "Anna" }, customer: { consents } };
    await createClient(mock).issueCard("tpl_bakery", request, { userId: 1 });
  } finally {
    await mock.close();
  }
  return lines.join("\n");
}

async function takePort(): Promise<string> {
  const mock = await startMockServer();
  const { port } = new URL(mock.url);
  const message = await catchMessage(() => startMockServer({ port: Number(port) }));
  await mock.close();
  return message.replaceAll(port, "4010");
}

async function callByHttps(): Promise<string> {
  const mock = await startMockServer();
  const baseUrl = mock.url.replace("http:", "https:");
  const client = createIssuingClient({ baseUrl, apiKey: "key", maxRetries: 0 });
  const message = await catchMessage(() => client.getCard("card_8sT2kq"));
  await mock.close();
  return message;
}

const owedCard = { userId: 1, template: "tpl_bakery", request: { customer: { consents } } };

async function addOutside(outbox: ReturnType<typeof sqliteOutbox>, file: string): Promise<void> {
  const database = openSqlite(file); // the shop's own connection
  try {
    outbox.add(database, owedCard);
  } finally {
    database.close();
  }
}

/** Each mistake under its name in the page; a mistake returns its message. */
export const mistakes: Record<string, () => Promise<string>> = {
  "wrong-api-key": () => issueWrongly({ apiKey: "lk_of_another_service" }),
  "parsed-before": parseBeforeReceiver,
  "wrong-secret": () => receiveAndLog({ secret: "whsec_2" }),
  "http-base-url": () =>
    catchMessage(() => createIssuingClient({ baseUrl: "http://cards.example.com", apiKey: "key" })),
  "https-to-http-port": callByHttps,
  "misspelt-field": misspellField,
  "port-taken": takePort,
  // @ts-expect-error TypeScript reports it too
  "wrong-option-name": () => catchMessage(() => expressReceiver({ secret, handle: () => {} })),
  "blank-secret": () => receiveAndLog({ secret: () => " \n" }),
  // @ts-expect-error TypeScript reports it too
  "plugin-as-route": () => catchMessage(() => express().post("/webhooks/loyalty", fastifyReceiver())),
  "template-typo": () => issueWrongly({ template: "tpl_bakrey" }),
  // @ts-expect-error TypeScript reports it too
  "no-consents": () => issueWrongly({ customer: { phone: "+48600100200" } }),
  "forgotten-await": forgetAwait,
  "in-browser": runInBrowser,
  "wrong-event-name": () =>
    // @ts-expect-error TypeScript reports it too
    catchMessage(() => onEvents({ "balance.change": () => {}, otherTypes: () => {} })),
  "clock-off": () => receiveAndLog({ now: () => (timestamp + 600) * 1000 }),
  "issue-before-commit": () => misuseOutbox((outbox) => outbox.issue(1)),
  "add-outside-transaction": () => misuseOutbox(addOutside),
  // @ts-expect-error TypeScript reports it too
  "number-as-phone": () => issueWrongly({ customer: { phone: 48600100200, consents } }),
  "undefined-user-id": () => issueWrongly({ options: { userId: undefined as never } }),
};

const quotation =
  /(<!-- message: ([\w-]+) -->\n)```log\n(?:[\s\S]*?\n)??```(?:\n\nError page: \[`[\w-]+`\]\(\S+\)\.)?/g;

/** The message as the page quotes it: the address at its end becomes a link below, and the port is that of `loyalty-cards dev`. */
export function formatQuotation(message: string): string {
  const { text = "", page } =
    /^(?<text>.*?)(?: See https:\S+\/errors\/(?<page>[\w-]+))?$/s.exec(message)?.groups ?? {};
  const quoted = text.replace(/(localhost|127\.0\.0\.1):\d+/g, "localhost:4010");
  const link = page === undefined ? "" : `\n\nError page: [\`${page}\`](../errors/${page}.md).`;
  return `\`\`\`log\n${quoted}\n\`\`\`${link}`;
}

/** Returns the page with current messages. @throws when the page and `mistakes` do not name the same mistakes. */
export async function updateMessages(page: string): Promise<string> {
  const named = [...page.matchAll(quotation)].map(([, , name = ""]) => name);
  if (named.toSorted().join() !== Object.keys(mistakes).toSorted().join())
    throw new Error(`${file} and tools/docs/mistakes.ts do not name the same mistakes: ${named.join(", ")}`);
  const quotations = new Map<string, string>();
  for (const [name, make] of Object.entries(mistakes)) {
    const message = await make();
    if (message === "") throw new Error(`The mistake "${name}" printed no message.`);
    quotations.set(name, formatQuotation(message));
  }
  return page.replace(quotation, (_whole, mark: string, name: string) => mark + quotations.get(name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(
    fileURLToPath(new URL(`../../${file}`, import.meta.url)),
    await updateMessages(readFromRoot(file)),
  );
}
