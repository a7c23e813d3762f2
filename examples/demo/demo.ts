/**
 * `npm run demo`: the main use case over real HTTP, with the shop of `examples/express`: sign-up,
 * card, purchase, signed webhook, verified receiver. With `--keep` the shop and the service run
 * until Ctrl-C.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, styleText } from "node:util";
import { watchParent } from "@loyalty-cards/internal/node-parent";
import { type CardLinks, createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import express from "express";
import { openShop } from "../express/shop.ts";

const seedFile = fileURLToPath(new URL("../express/mock.json", import.meta.url));

/** The types that the shop handles. */
const events = [
  "balance.changed",
  "tier.changed",
  "consent.changed",
  "card.added",
  "card.removed",
] as const;

const anna = { name: "Anna Kowalska", email: "anna@example.com" };
const ben = { name: "Ben Nowak", email: "ben@example.com" };

/**
 * Prints each step with its time and result; the first failure ends the demo.
 * @param keepUntil until it resolves, the shop and the service run on after the last step.
 * @returns whether all steps succeeded.
 */
export async function runDemo(
  print: Print,
  keepUntil?: Promise<void>,
): Promise<boolean> {
  const closing: (() => Promise<void> | void)[] = [];
  try {
    const { shopUrl, mockUrl, userId, links } = await runSteps(print, closing);
    if (keepUntil === undefined)
      print(
        "\nnpm run demo -- --keep leaves the shop, the card and the console open.",
      );
    else {
      print("\nThe shop and the mock service run until you press Ctrl-C:");
      print(`  join the club  ${shopUrl}/?join`);
      print(`  Anna's page    ${shopUrl}/#${userId}`);
      print(`  Anna's card    ${links.page}`);
      print(`  console        ${mockUrl}/console  (record a purchase)`);
      await keepUntil;
      print("Stopped.");
    }
    return true;
  } catch {
    return false; // the step has printed why
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function runSteps(print: Print, closing: (() => Promise<void> | void)[]) {
  const step = createStep(print);
  const log = (line: string) =>
    print(`${new Date().toTimeString().slice(0, 8)} ${line}`);
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-demo-"));
  closing.push(() => rmSync(folder, { recursive: true }));
  const app = express();
  const server = app.listen(0, "127.0.0.1");
  const stopServer = () => void server.close().closeAllConnections();
  closing.push(stopServer);
  await once(server, "listening");
  const shopUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // An endpoint of the start stays when the service is reset.
  const endpoint = {
    url: `${shopUrl}/webhooks/loyalty`,
    events,
    secret: randomUUID(),
  };
  const mock = await startMockServer({ seedFile, endpoints: [endpoint], log });
  const { service } = mock;
  closing.push(mock.close);
  let delivered: IncomingHttpHeaders = {};
  const logged: string[] = [];

  const post = (path: string, body: string, headers: Record<string, string>) =>
    fetch(`${shopUrl}${path}`, { method: "POST", body, headers });
  const sendForm = async (form: Record<string, string>) => {
    const headers = { "content-type": "application/json" };
    const response = await post("/sign-up", JSON.stringify(form), headers);
    type Body = { userId: string; links: CardLinks; message: string };
    return { status: response.status, ...((await response.json()) as Body) };
  };

  const shop = await step("The shop opens", async () => {
    const shop = await openShop({
      client: createIssuingClient({
        baseUrl: mock.url,
        apiKey: service.apiKeys.website,
      }),
      template: service.templateId,
      secret: endpoint.secret,
      file: join(folder, "shop.db"),
      log: (line) => void logged.push(line),
    });
    closing.push(shop.close, stopServer); // requests use the tables
    app.use("/webhooks", (request, _response, next) => {
      delivered = request.headers; // for the changed delivery
      next();
    });
    app.use(shop.app);
    return ["an Express app, beside a mock of the service", shop];
  });

  const member = await step("Anna signs up", async () => {
    const { status, userId, links } = await sendForm(anna);
    ensure("201", status === 201);
    const cardId = (await shop.outbox.get(userId))?.cardId ?? "";
    const card = service.cards.get(cardId);
    ensure("an active card", card.status === "active");
    const result = `card ${cardId}, ${card.status}, for Apple and Google Wallet`;
    return [result, { userId, links, cardId }];
  });
  const readBalance = async () => {
    const response = await fetch(`${shopUrl}/users/${member.userId}`);
    return ((await response.json()) as { balance: number }).balance;
  };

  await step("Ben signs up, and the response to the shop is lost", async () => {
    service.faults.add({ phase: "after-commit", kind: "reset", times: 1 });
    ensure("201", (await sendForm(ben)).status === 201);
    const response = await fetch(`${mock.url}/_mock/cards?query=Ben`);
    const { items } = (await response.json()) as { items: unknown[] };
    ensure("one card", items.length === 1);
    return ["one card, although the request was sent twice"];
  });

  await step("A visitor omits the name", async () => {
    const { status, message } = await sendForm({ email: "nobody@example.com" });
    ensure("422", status === 422);
    ensure("a message for the user", message === "Name is required.");
    return [`422; the shop responds: ${message}`];
  });

  await step("The shop records a purchase", async () => {
    const purchase = service.cards.purchase(member.cardId, { points: 120 });
    return [`${purchase.type} of ${purchase.change} points`];
  });

  const findDelivery = () =>
    service.webhooks
      .deliveries()
      .find(({ body }) => body.includes('"type":"balance.changed"'));
  await step("The signed webhook arrives", async () => {
    await service.idle();
    ensure("a response of 204", findDelivery()?.attempts[0]?.status === 204);
    const endMs = performance.now() + 3_000;
    while ((await readBalance()) !== 120) {
      ensure("a balance of 120 in the shop", performance.now() < endMs);
      await setTimeout(20);
    }
    return ["verified, 204; Anna's balance in the shop is 120"];
  });

  await step("An attacker changes that delivery", async () => {
    const body = findDelivery()?.body ?? "";
    const headers = Object.fromEntries(
      Object.entries(delivered).filter(([name]) => name.startsWith("service-")),
    ) as Record<string, string>;
    const forged = body.replace('"balance":120', '"balance":9120');
    ensure("a changed body", forged !== body && Object.keys(headers).length === 3);
    const { status } = await post("/webhooks/loyalty", forged, headers);
    ensure("401", status === 401);
    ensure("an unchanged balance", (await readBalance()) === 120);
    ensure("the reason in the log", /rejected: mismatch/.test(logged.join()));
    return ["401, mismatch; Anna's balance in the shop is still 120"];
  });

  return { shopUrl, mockUrl: mock.url, ...member };
}

type Print = (line: string) => void;

function createStep(print: Print) {
  /** @param act returns the line to print, and a value for the next steps. */
  return async <Value = undefined>(
    name: string,
    act: () => Promise<[result: string, value?: Value]>,
  ): Promise<Value> => {
    const startedMs = performance.now();
    const printStep = (mark: string, result: string) => {
      const time = `${Math.round(performance.now() - startedMs)} ms`;
      print(`${mark} ${name} ${time.padStart(77 - name.length)}`); // 80 columns
      print(`    ${result}`);
    };
    try {
      const [result, value] = await act();
      printStep("✓", result);
      return value as Value;
    } catch (error) {
      printStep("✗", error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
}

/** @throws when an expectation does not hold. */
function ensure(expected: string, isTrue: boolean): void {
  if (!isTrue) throw new Error(`expected ${expected}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { keep: { type: "boolean", default: false } },
  });
  const interrupted = () =>
    new Promise<void>((stop) => {
      process.once("SIGINT", stop).once("SIGTERM", stop); // a second Ctrl-C ends the process at once
      watchParent(stop);
    });
  const print = (line: string) =>
    console.log(
      line
        .replace(/^✓/, styleText("green", "✓"))
        .replace(/^✗/, styleText("red", "✗")),
    );
  const keepUntil = values.keep ? interrupted() : undefined;
  process.exitCode = (await runDemo(print, keepUntil)) ? 0 : 1;
}
