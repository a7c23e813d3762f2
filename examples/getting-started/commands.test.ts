/** From an empty shell to a balance, by typing what the first guide says. */
import { createServer } from "node:http";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { findLine, openShell } from "./shell.ts";

/** A free port below those that systems choose from for `listen(0)` and connections, so that no other test gets it meanwhile. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const port = 11_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, () =>
      server.close(() => resolve(port)),
    );
    server.once("error", () => resolve(freePort()));
  });
}

const freePorts = async () => ({
  shop: await freePort(),
  service: await freePort(),
});

async function post(
  url: string,
  body: unknown,
): Promise<{ status: number; body: SignedUp }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as SignedUp };
}

interface SignedUp {
  userId: string;
  cardId?: string;
  links: { page: string; addToFirstWallet: string };
  message?: string;
}

/** Ids, times and the port as in the guide: of each kind of id, the one for Anna, then the one for Ben. */
function normalize(text: string, servicePort: number): string {
  const withNames = (ids: RegExp, names: readonly string[]) => {
    const seen = [...new Set(text.match(ids))];
    text = text.replace(ids, (id) => names[seen.indexOf(id)] ?? id);
  };
  text = text.replaceAll(String(servicePort), "4010");
  withNames(/\bcard_\w{16}\b/g, ["card_8sT2kq", "card_5dR9wz"]);
  withNames(/(?<=\/cards\/)\w{16}/g, ["8sT2kq", "5dR9wz"]);
  withNames(/\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g, [
    "6f1c2e5d",
    "a04b7c19",
  ]);
  withNames(/\bop_\w{16}\b/g, ["op_0tRm5c"]);
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-22T10:15:00.000Z");
}

it("prints the responses that the guide shows", async () => {
  const ports = await freePorts();
  const { start, output } = openShell(ports);
  const card = await output("first-card"); // of another service
  expect(card).toMatch(/^card_\w{16} http:\S+\/cards\/\w+\n/m);
  const shown: string[] = [];
  const show = (region: string, text: string) =>
    shown.push(`# #region ${region}\n${text.trimEnd()}\n# #endregion\n`);
  show("first-card", normalize(card, ports.service));
  await findLine(start("start-express"), /The shop is open/);
  const showJson = async (region: string, command = region) =>
    show(region, JSON.stringify(JSON.parse(await output(command)), null, 2));
  await showJson("sign-up");
  await showJson("sign-up-again", "sign-up");
  await showJson("sign-up-invalid");
  await showJson("sign-up-corrected");
  show("purchase", await output("purchase"));
  await post(`http://127.0.0.1:${ports.service}/_mock/wait`, {
    delivery: { type: "balance.changed", state: "delivered" },
  });
  await showJson("users");
  const text = normalize(shown.join("\n"), ports.service);
  await expect(text).toMatchFileSnapshot("commands.output.txt");
});

it.each(["express", "fastify"])(
  "issues one card for a form that is sent twice, and a purchase updates the shop: %s",
  async (framework) => {
    const ports = await freePorts();
    const { start, output } = openShell(ports);
    await findLine(start(`start-${framework}`), /The shop is open/);

    const [first, second] = [await output("sign-up"), await output("sign-up")];
    expect(second).toBe(first);
    const { userId, cardId, links } = JSON.parse(first) as SignedUp;
    expect(links.addToFirstWallet).toBe(`${links.page}/pass.pkpass`);

    expect(await output("purchase")).toMatch(/^Purchase of 120 points: /);
    const service = `http://127.0.0.1:${ports.service}`;
    await post(`${service}/_mock/wait`, {
      delivery: { type: "balance.changed", state: "delivered" },
    });
    expect(JSON.parse(await output("users"))).toMatchObject([
      { id: userId, cardId, balance: 120 },
    ]);
  },
);

it.each(["express", "fastify"])(
  "shows the balance of an event that arrives before the card's id is stored: %s",
  async (framework) => {
    const ports = await freePorts();
    const { start, output } = openShell(ports);
    await findLine(start(`start-${framework}`), /The shop is open/);
    const control = `http://127.0.0.1:${ports.service}/_mock`;
    // The card is issued, and the shop gets no response.
    await post(`${control}/faults`, {
      phase: "after-commit",
      kind: "status",
      status: 503,
    });
    expect(JSON.parse(await output("sign-up"))).not.toHaveProperty("cardId");
    const { items } = (await (await fetch(`${control}/cards`)).json()) as {
      items: { id: string }[];
    };
    await post(`${control}/cards/${items[0]?.id}/purchase`, { points: 120 });
    await post(`${control}/wait`, {
      delivery: { type: "balance.changed", state: "delivered" },
    });

    await fetch(`${control}/faults`, { method: "DELETE" });
    await expect
      .poll(async () => JSON.parse(await output("users")))
      .toMatchObject([{ cardId: items[0]?.id, balance: 120 }]);
  },
);

it("records the purchase on one card, also after a form that was corrected", async () => {
  const ports = await freePorts();
  const { start, output } = openShell(ports);
  await findLine(start("start-express"), /The shop is open/);
  await output("sign-up");
  const signUp = (form: object) =>
    post(`http://localhost:${ports.shop}/sign-up`, { name: "Ben", ...form });
  expect((await signUp({ email: "ben@example.com", phone: "12" })).status).toBe(
    422,
  );
  expect(await output("purchase")).toMatch(/^Purchase of 120 points: /);
  expect(
    (await signUp({ email: "ben@example.com", phone: "600100201" })).status,
  ).toBe(201);
  expect(await output("purchase")).toMatch(/^Purchase of 120 points: /);
  await post(`http://127.0.0.1:${ports.service}/_mock/wait`, {
    delivery: { type: "balance.changed", state: "delivered" },
    count: 2,
  });
  expect(JSON.parse(await output("users"))).toMatchObject([
    { balance: 120 },
    { balance: 120 },
  ]);
});

/** The shop of the guide in a separate process, with an empty user table, on a running service. */
async function openShop(mock: Awaited<ReturnType<typeof startMockServer>>) {
  const ports = await freePorts();
  const child = openShell(ports).start("start-shop-only", {
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: mock.service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: mock.service.templateId,
    LOYALTY_SIGNING_SECRET: "whsec_not_used",
  });
  await findLine(child, /The shop is open/);
  const url = `http://localhost:${ports.shop}`;
  return {
    signUp: (form: object) => post(`${url}/sign-up`, form),
    listUsers: async (): Promise<unknown> => (await fetch(`${url}/users`)).json(),
  };
}

async function openMock(options: { storeRefusals?: boolean } = {}) {
  const mock = await startMockServer(options);
  onTestFinished(mock.close);
  return mock;
}

// G9
it("issues separate cards to people who join after a restart of the shop", async () => {
  const mock = await openMock();
  const { body: anna } = await (await openShop(mock)).signUp({
    name: "Anna",
    phone: "600100200",
  });
  const { body: ben } = await (await openShop(mock)).signUp({
    name: "Ben",
    phone: "600100201",
  });
  const getName = ({ cardId = "" }: SignedUp) =>
    mock.service.cards.get(cardId).fieldValues["name"];
  expect([getName(anna), getName(ben)]).toEqual(["Anna", "Ben"]);
});

it.each([
  { phone: "600100200", email: "" },
  { phone: "", email: "anna@example.com" },
  { phone: "", email: "" },
])(
  "issues a card to two people whose forms have phone $phone and email $email",
  async ({ phone, email }) => {
    const { signUp } = await openShop(await openMock());
    const anna = await signUp({ name: "Anna", phone, email });
    const ben = await signUp({
      name: "Ben",
      phone: phone && "600100201",
      email: email && "ben@example.com",
    });
    expect([anna.status, ben.status]).toEqual([201, 201]);
    expect(ben.body.cardId).not.toBe(anna.body.cardId);
  },
);

it("signs up while the service is down, and issues one card to a corrected form of a service that stores refusals", async () => {
  const mock = await openMock({ storeRefusals: true });
  const { signUp, listUsers } = await openShop(mock);
  const { id } = mock.service.faults.add({
    phase: "before",
    kind: "status",
    status: 503,
  });
  expect((await signUp({ name: "Anna", email: "anna@example.com" })).status).toBe(
    202,
  );
  mock.service.faults.remove(id);
  await expect
    .poll(listUsers)
    .toMatchObject([{ name: "Anna", cardId: expect.any(String) }]);
  const ben = { name: "Ben", email: "ben@example.com" };
  const refused = await signUp({ ...ben, phone: "12" });
  expect(refused).toMatchObject({
    status: 422,
    body: { message: "The phone number is not valid." },
  });
  const corrected = await signUp({ ...ben, phone: "600100200" });
  expect(corrected).toMatchObject({
    status: 201,
    body: { cardId: expect.any(String) },
  });
});

it("starts the service on its port", async () => {
  const ports = await freePorts();
  await findLine(openShell(ports).start("port"), /Console +(\S+)/i);
  expect(
    (await fetch(`http://127.0.0.1:${ports.service}/_mock/health`)).status,
  ).toBe(200);
});

it("runs a command with the service in its environment", async () => {
  const { output } = openShell({ shop: 0, service: 0 });
  expect(await output("exec")).toMatch(
    /^npm test http:\/\/127\.0\.0\.1:\d+ tpl_\w+\n$/,
  );
});
