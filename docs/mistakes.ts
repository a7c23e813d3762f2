/** Makes the mistakes of docs/guides/common-mistakes.md for real, and writes what the packages print into that page. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import {
  cardLinks,
  createIssuingClient,
  type IssueCardRequest,
  ProblemError,
} from "@loyalty-cards/issuing-client";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { onEvents, type ReceiverOptions, signWebhookSync } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { build } from "esbuild";
import express from "express";
import { readFromRoot } from "./snippets.ts";

const file = "docs/guides/common-mistakes.md";
const consents = { privacy: { version: "2026-01" } };
const secret = "whsec_1";
const timestamp = 1_800_000_000;
const rawBody = '{"id":"evt_1","type":"ping","createdAt":"2027-01-15T08:00:00.000Z","data":{}}';

/** The message of what is thrown; after a 422 also what the service says. @throws when nothing is thrown. */
async function thrown(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "validation") return (error as Error).message;
    const [first] = (error.problem["errors"] ?? []) as { rule?: string }[];
    return `${error.message}\nuserMessage: ${error.userMessage}\nproblem.errors[0].rule: ${first?.rule}`;
  }
  throw new Error("The mistake was not refused.");
}

const clientOf = ({ url, service }: MockServer, apiKey = service.apiKeys.website) =>
  createIssuingClient({ baseUrl: url, apiKey, idempotencyNamespace: "docs" });

/** What issuing a card throws, with the parts that are wrong. */
async function issuing(
  change: Partial<IssueCardRequest> & { apiKey?: string; template?: string; options?: object } = {},
): Promise<string> {
  const mock = await startMockServer({ templates: [{ id: "tpl_bakery", name: "Bakery" }] });
  const { apiKey, template = "tpl_bakery", customer = { consents }, options = {} } = change;
  try {
    return await thrown(() => clientOf(mock, apiKey).issueCard(template, { customer }, options));
  } finally {
    await mock.close();
  }
}

/** What a receiver logs when the delivery arrives that was signed at the timestamp. */
async function logged(options: Partial<ReceiverOptions>): Promise<string> {
  const lines: string[] = [];
  const log = (...texts: unknown[]) => void lines.push(texts.join(" "));
  const receive = fetchReceiver({ secret, now: () => timestamp * 1000, accept: () => {}, log, ...options });
  await receive(new Request("https://shop.example/webhooks", delivery()));
  return lines.join("\n");
}

function delivery(): { method: string; headers: Record<string, string>; body: string } {
  const signature = signWebhookSync({ rawBody, secret, timestamp });
  const headers = { "content-type": "application/json", "service-signature": signature };
  return { method: "POST", headers, body: rawBody };
}

async function parsedBefore(): Promise<string> {
  const lines: string[] = [];
  const app = express();
  app.use(express.json());
  app.post(
    "/webhooks",
    expressReceiver({ secret, now: () => timestamp * 1000, log: (line: string) => void lines.push(line) }),
  );
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`, delivery());
  server.close();
  server.closeAllConnections();
  return lines.join("\n");
}

async function inBrowser(): Promise<string> {
  const contents =
    'import { createIssuingClient } from "@loyalty-cards/issuing-client"; createIssuingClient();';
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL("../examples", import.meta.url)) },
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    conditions: ["@loyalty-cards/source"],
  });
  // What a page has and a server has not, and nothing of Node.
  return thrown(() =>
    runInNewContext(outputFiles[0]?.text ?? "", { document: {}, URL, TextEncoder, console }),
  );
}

async function forgottenAwait(): Promise<string> {
  const mock = await startMockServer();
  const card = clientOf(mock).issueCard(mock.service.templateId, { customer: { consents } });
  try {
    // @ts-expect-error TypeScript reports it too
    return await thrown(() => cardLinks(card));
  } finally {
    await card;
    await mock.close();
  }
}

/** Each mistake by the name that the page has for it. */
export const mistakes: Record<string, () => Promise<string>> = {
  "wrong-api-key": () => issuing({ apiKey: "lk_of_another_service" }),
  "parsed-before": parsedBefore,
  "wrong-secret": () => logged({ secret: "whsec_2" }),
  "http-base-url": () =>
    thrown(() => createIssuingClient({ baseUrl: "http://cards.example.com", apiKey: "key" })),
  "template-typo": () => issuing({ template: "tpl_bakrey" }),
  // @ts-expect-error TypeScript reports it too
  "no-consents": () => issuing({ customer: { phone: "+48600100200" } }),
  "forgotten-await": forgottenAwait,
  "in-browser": inBrowser,
  // @ts-expect-error TypeScript reports it too
  "wrong-event-name": () => thrown(() => onEvents({ "balance.change": () => {}, other: () => {} })),
  "clock-off": () => logged({ now: () => (timestamp + 600) * 1000 }),
  // @ts-expect-error TypeScript reports it too
  "number-as-phone": () => issuing({ customer: { phone: 48600100200, consents } }),
  "undefined-user-id": () => issuing({ options: { userId: undefined } }),
};

const quotation = /(<!-- message: ([\w-]+) -->\n)```log\n(?:[\s\S]*?\n)??```/g;

/** The page with each message as it is printed now. @throws when a mistake has no place in the page, or the page names another. */
export async function withMessages(page: string): Promise<string> {
  const named = [...page.matchAll(quotation)].map(([, , name = ""]) => name);
  if (named.toSorted().join() !== Object.keys(mistakes).toSorted().join())
    throw new Error(`${file} has other mistakes than docs/mistakes.ts: ${named.join(", ")}`);
  const messages = new Map<string, string>();
  for (const [name, make] of Object.entries(mistakes)) messages.set(name, await make());
  return page.replace(
    quotation,
    (_whole, mark: string, name: string) => `${mark}\`\`\`log\n${messages.get(name)}\n\`\`\``,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(
    fileURLToPath(new URL(`../${file}`, import.meta.url)),
    await withMessages(readFromRoot(file)),
  );
}
