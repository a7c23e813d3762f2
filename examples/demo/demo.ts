/** The main use case over real HTTP: sign-up → card → purchase → signed webhook → verified receiver. */
import type { IncomingHttpHeaders } from "node:http";
import { type Card, cardLinks } from "@loyalty-cards/issuing-client";
import { type MockServerOptions, startMockServer } from "@loyalty-cards/mock-server/node";
import express from "express";
import { renderUnicodeCompact } from "uqr";
import { listen } from "./listen.ts";
import { renderHome } from "./page.ts";
import { createShop } from "./shop.ts";
import { createUsers } from "./users.ts";

const template = {
  id: "tpl_coffee",
  name: "Coffee club",
  fields: [
    { key: "name", type: "name", required: true, label: "Name" },
    { key: "points", type: "number" },
  ],
} as const;

const anna = { name: "Anna Kowalska", email: "anna@example.com", phone: "+48 600 100 200" };

interface SignedUp {
  userId: string;
  card: Card;
}

export interface DemoOptions extends MockServerOptions {
  /** After successful steps the shop and the service run until this resolves. Default: they stop at once. */
  keepUntil?: Promise<void>;
}

/** Prints each step with its time and result; the first failure ends the demo. @returns whether all steps succeeded. */
export async function runDemo(print: Print, options: DemoOptions = {}): Promise<boolean> {
  const { keepUntil, ...mockOptions } = options;
  const step = createStep(print);
  const closing: (() => Promise<void>)[] = [];
  let mockUrl = "";
  let shopUrl = "";
  let signedUp: SignedUp | undefined;
  try {
    await runSteps();
    if (keepUntil !== undefined) await keepRunning(keepUntil);
    return true;
  } catch {
    return false; // the step has printed why
  } finally {
    for (const close of closing.reverse()) await close();
  }

  async function keepRunning(until: Promise<void>): Promise<void> {
    print("\nThe shop and the mock service run until you press Ctrl-C:");
    print(`    shop     ${shopUrl}/  (sign up, and see the balances)`);
    print(`    card     ${signedUp?.card.publicUrl}`);
    print(`    console  ${mockUrl}/console  (record a purchase)`);
    await until;
    print("Stopped.");
  }

  async function runSteps(): Promise<void> {
    const mock = await startMockServer({ templates: [template], ...mockOptions });
    closing.push(mock.close);
    mockUrl = mock.url;
    const { service } = mock;
    const users = createUsers();
    let delivered: IncomingHttpHeaders = {};
    const logged: string[] = [];

    const post = (path: string, body: string, headers: Record<string, string>) =>
      fetch(`${shopUrl}${path}`, { method: "POST", body, headers });
    const sendForm = async (form: Record<string, string>) => {
      const response = await post("/sign-up", JSON.stringify(form), { "content-type": "application/json" });
      return { status: response.status, body: (await response.json()) as SignedUp & { message: string } };
    };

    await step("The shop opens", async () => {
      const app = express();
      const shop = await listen(app);
      closing.push(shop.close);
      shopUrl = shop.url;
      const { secret } = service.webhooks.createEndpoint({
        url: `${shopUrl}/webhooks/loyalty`,
        events: ["balance.changed"],
      });
      app.use("/webhooks", (request, _response, next) => {
        delivered = request.headers; // for the changed delivery
        next();
      });
      const settings = {
        baseUrl: mock.url,
        apiKey: service.apiKeys.website,
        templateId: template.id,
        signingSecret: secret,
        log: (line: string) => void logged.push(line),
      };
      const findMembers = () =>
        users.all().flatMap(({ name, cardId }) => {
          if (cardId === undefined) return []; // a form that the service rejected
          return { name, balance: users.getBalance(cardId), cardPage: service.cards.get(cardId).publicUrl };
        });
      app.get("/", (_request, response) => {
        response.type("html").send(renderHome(findMembers()));
      });
      app.use(createShop(settings, users));
      return { result: "an Express app", details: [`shop     ${shopUrl}/`, `console  ${mock.url}/console`] };
    });

    await step("Anna signs up", async () => {
      const { status, body } = await sendForm(anna);
      ensure("201", status === 201);
      ensure("an active card", body.card.status === "active");
      signedUp = body;
      const { card } = body;
      const links = cardLinks(card);
      return {
        result: `card ${card.id}, ${card.status}`,
        details: [
          `page           ${links.page}`,
          `first wallet   ${links.addToFirstWallet}`,
          `second wallet  ${links.addToSecondWallet}`,
          ...renderUnicodeCompact(links.page, { border: 2 }).split("\n"),
        ],
      };
    });

    await step("Anna sends the form again", async () => {
      // As after a crash between issuing the card and saving its id: the derived key finds the card.
      const user = users.withCard(signedUp?.card.id ?? "");
      delete user?.cardId;
      const { status, body } = await sendForm(anna);
      ensure("201", status === 201);
      ensure("the same card", body.card.id === signedUp?.card.id && body.card.id === user?.cardId);
      return { result: "the same card, although the shop had lost its id" };
    });

    await step("A visitor omits the name", async () => {
      const { status, body } = await sendForm({ ...anna, name: "", email: "nobody@example.com" });
      ensure("422", status === 422);
      ensure("a message for the user", body.message === 'Please fill in "Name".');
      return { result: `422, the form shows: ${body.message}` };
    });

    await step("The shop records a purchase", async () => {
      const { type, change } = service.cards.purchase(signedUp?.card.id ?? "", { points: 120 });
      return { result: `${type} of ${change} points` };
    });

    await step("The signed webhook arrives", async () => {
      await service.idle();
      const [delivery] = service.webhooks.deliveries();
      ensure("a response of 204", delivery?.attempts[0]?.status === 204);
      ensure("a balance of 120 in the shop", users.getBalance(signedUp?.card.id ?? "") === 120);
      return { result: "verified, 204; her balance in the shop is 120" };
    });

    await step("An attacker changes that delivery", async () => {
      const [delivery] = service.webhooks.deliveries();
      const headers = Object.fromEntries(
        Object.entries(delivered).filter(([name]) => name.startsWith("service-")),
      ) as Record<string, string>;
      const forged = (delivery?.body ?? "").replace('"balance":120', '"balance":9120');
      ensure("a changed body", forged !== delivery?.body && Object.keys(headers).length === 3);
      const { status } = await post("/webhooks/loyalty", forged, headers);
      ensure("401", status === 401);
      ensure("an unchanged balance", users.getBalance(signedUp?.card.id ?? "") === 120);
      return { result: "401; her balance in the shop is still 120", details: ["the shop's log:", ...logged] };
    });
  }
}

type Print = (line: string) => void;

interface StepResult {
  result: string;
  /** More lines to print below. */
  details?: readonly string[];
}

function createStep(print: Print) {
  return async (name: string, act: () => Promise<StepResult>): Promise<void> => {
    const startedMs = performance.now();
    const printStep = (mark: string, lines: readonly string[]) => {
      const time = `${Math.round(performance.now() - startedMs)} ms`;
      print(`${mark} ${name} ${time.padStart(77 - name.length)}`); // 80 columns
      for (const line of lines) print(`    ${line}`);
    };
    try {
      const { result, details = [] } = await act();
      printStep("✓", [result, ...details]);
    } catch (error) {
      printStep("✗", [error instanceof Error ? error.message : String(error)]);
      throw error;
    }
  };
}

/** @throws when an expectation does not hold. */
function ensure(expected: string, isTrue: boolean): void {
  if (!isTrue) throw new Error(`expected ${expected}`);
}
