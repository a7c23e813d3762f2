/** Each receiver of the README takes a delivery of the mock service, over real HTTP. */
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { checkReceiver } from "@loyalty-cards/mock-server/doctor";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import { expect, it } from "vitest";
import { listen, openShop } from "../service.ts";
import { saved } from "./balances.ts";
import { app as expressApp } from "./express.ts";
import { app as fastifyApp } from "./fastify.ts";
import { app as honoApp } from "./hono.ts";
import { POST } from "./next-route.ts";
import { createRoute, handle } from "./verify.ts";

export async function findProblems(url: string, secret: string): Promise<string[]> {
  const { findings } = await checkReceiver({ url, secret });
  return findings
    .filter(({ verdict }) => verdict !== "pass")
    .map(({ check, clause, sent, observed, advice }) => {
      return `${check} (spec ${clause}): sent ${sent}, it ${observed}. ${advice}`;
    });
}

/** Delivers a purchase to an app, whose secret is in the environment. */
async function deliverTo(listener: RequestListener) {
  const { mock, secret, cardId, listen, buy } = await openShop();
  process.env["LOYALTY_SIGNING_SECRET"] = secret;
  listen(listener);
  await buy(12);
  return { cardId, log: mock.service.webhooks.deliveries() };
}

const apps: Record<string, () => RequestListener | Promise<RequestListener>> = {
  Express: () => expressApp,
  Fastify: async () => {
    await fastifyApp.ready();
    return fastifyApp.routing;
  },
  Hono: () => getRequestListener(honoApp.fetch),
  Next: () => getRequestListener(POST),
};

it.each(Object.entries(apps))(
  "receives a delivery on %s",
  async (_name, createListener) => {
    const { cardId, log } = await deliverTo(await createListener());
    expect(log).toMatchObject([
      { state: "delivered", attempts: [{ status: 204 }] },
    ]);
    expect(saved.at(-1)).toEqual([cardId, 12]);
  },
);

it("verifies a delivery without a receiver", async () => {
  const rawBody = Buffer.from(
    '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"}',
  );
  const signature = await signWebhook({ rawBody, secret: "whsec_1" });
  expect(await handle(rawBody, signature, "whsec_1")).toMatchObject({
    status: 204,
    event: { type: "ping" },
  });
  expect(await handle(rawBody, signature, "whsec_2")).toEqual({ status: 401 });
});

it("sets an event with unexpected data aside, and stores a balance whatever the rest of the data is", async () => {
  const balances: [string, number][] = [];
  const aside: unknown[] = [];
  const receive = createRoute("whsec_1", {
    storeBalance: async (...balance) => void balances.push(balance),
    setAside: async ({ id }) => void aside.push(id),
  });
  let count = 0;
  const getStatus = async (event: object) => {
    const body = JSON.stringify({
      id: `evt_${++count}`,
      createdAt: "2026-01-01T00:00:00.000Z",
      ...event,
    });
    const headers = {
      "service-signature": await signWebhook({ rawBody: body, secret: "whsec_1" }),
    };
    return (
      await receive(
        new Request("https://shop.example/", { method: "POST", headers, body }),
      )
    ).status;
  };
  const send = (data: object) =>
    getStatus({ type: "balance.changed", data: { passId: "card_1", ...data } });
  expect([
    await send({ balance: 1 }),
    await send({ balance: 2, change: "1", operation: null }),
    await send({ balance: "3" }),
    await getStatus({ type: "card.renamed" }),
  ]).toEqual([204, 204, 204, 204]);
  expect(balances).toEqual([
    ["card_1", 1],
    ["card_1", 2],
  ]);
  expect(aside).toEqual(["evt_3"]);
});

it("lists the problems of a receiver", async () => {
  const address = await listen((_request, response) =>
    response.writeHead(500).end(),
  );
  expect(await findProblems(address, "whsec_1")).toEqual([
    expect.stringMatching(
      /^valid \(spec 6\.3\.1\): sent a ping as the service signs it, it responded 500\. The receiver failed: read its log\./,
    ),
  ]);
});
