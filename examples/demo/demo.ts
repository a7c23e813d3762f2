/** The main job over real HTTP: sign-up → card → purchase → signed webhook → verified receiver. */
import type { IncomingHttpHeaders } from "node:http";
import { type Card, cardLinks } from "@loyalty-cards/issuing-client";
import { type MockServerOptions, startMockServer } from "@loyalty-cards/mock-server/node";
import express from "express";
import { renderUnicodeCompact } from "uqr";
import { listen } from "../shop/listen.ts";
import { createShop } from "../shop/shop.ts";
import { createUsers } from "../shop/users.ts";
import { ensure, type Print, stepsPrintedBy } from "./steps.ts";

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

/** @returns whether every step really happened. */
export async function runDemo(print: Print, mockOptions: MockServerOptions = {}): Promise<boolean> {
  const step = stepsPrintedBy(print);
  const closing: (() => Promise<void>)[] = [];
  try {
    await story();
    return true;
  } catch {
    return false; // the step has said why
  } finally {
    for (const close of closing.reverse()) await close();
  }

  async function story(): Promise<void> {
    const mock = await startMockServer({ templates: [template], ...mockOptions });
    closing.push(mock.close);
    const { service } = mock;
    const users = createUsers();
    let delivered: IncomingHttpHeaders = {};
    let shopUrl = "";
    let signedUp: SignedUp | undefined;

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
        delivered = request.headers; // a copy to forge from, later
        next();
      });
      const settings = {
        baseUrl: mock.url,
        apiKey: service.apiKeys.website,
        idempotencyNamespace: "demo",
        templateId: template.id,
        signingSecret: secret,
      };
      app.use(createShop(settings, users));
      return { happened: "an Express app", below: [`shop          ${shopUrl}`, `mock service  ${mock.url}`] };
    });

    await step("Anna signs up", async () => {
      const { status, body } = await sendForm(anna);
      ensure("201", status === 201);
      ensure("an active card", body.card.status === "active");
      signedUp = body;
      const { card } = body;
      const links = cardLinks(card);
      return {
        happened: `card ${card.id}, ${card.status}`,
        below: [
          `page           ${links.page}`,
          `first wallet   ${links.addToFirstWallet}`,
          `second wallet  ${links.addToSecondWallet}`,
          ...renderUnicodeCompact(links.page, { border: 2 }).split("\n"),
        ],
      };
    });

    await step("Anna sends the form again", async () => {
      // As after a crash between issuing the card and saving its id: only the derived key tells that she has one.
      const user = users.withCard(signedUp?.card.id ?? "");
      delete user?.cardId;
      const { status, body } = await sendForm(anna);
      ensure("201", status === 201);
      ensure("the same card", body.card.id === signedUp?.card.id && body.card.id === user?.cardId);
      return { happened: "the same card, though the shop had lost its id" };
    });

    await step("Somebody leaves out the name", async () => {
      const { status, body } = await sendForm({ ...anna, name: "", email: "nobody@example.com" });
      ensure("422", status === 422);
      ensure("a message for the user", body.message === 'Please fill in "Name".');
      return { happened: `422, and the form shows: ${body.message}` };
    });

    await step("The shop records a purchase", async () => {
      const { type, change } = service.cards.purchase(signedUp?.card.id ?? "", { points: 120 });
      return { happened: `${type} of ${change} points` };
    });

    await step("The signed webhook arrives", async () => {
      await service.idle();
      const [delivery] = service.webhooks.deliveries();
      ensure("a delivery answered 204", delivery?.attempts[0]?.status === 204);
      ensure("a balance of 120 in the shop", users.withCard(signedUp?.card.id ?? "")?.balance === 120);
      return { happened: "verified, answered 204; her balance in the shop is 120" };
    });

    await step("Somebody forges that delivery", async () => {
      const [delivery] = service.webhooks.deliveries();
      const headers = Object.fromEntries(
        Object.entries(delivered).filter(([name]) => name.startsWith("service-")),
      ) as Record<string, string>;
      const forged = (delivery?.body ?? "").replace('"balance":120', '"balance":9120');
      ensure("a changed copy", forged !== delivery?.body && Object.keys(headers).length === 3);
      const { status } = await post("/webhooks/loyalty", forged, headers);
      ensure("401", status === 401);
      ensure("an unchanged balance", users.withCard(signedUp?.card.id ?? "")?.balance === 120);
      return { happened: "401; her balance in the shop is still 120" };
    });
  }
}
