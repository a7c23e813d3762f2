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
  page?: string;
  apple?: string;
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

/** A reader's terminals: the mock service runs, and `.env` has its variables. */
async function openGuide() {
  const ports = await freePorts();
  const shell = openShell(ports);
  await shell.output("env");
  await findLine(shell.start("dev-forward"), /^LOYALTY_TEMPLATE_ID=/m);
  const control = `http://127.0.0.1:${ports.service}/_mock`;
  const waitForDelivery = (count = 1) =>
    post(`${control}/wait`, {
      delivery: { type: "balance.changed", state: "delivered" },
      count,
    });
  return { ...shell, ports, control, waitForDelivery };
}

it("prints the responses that the guide shows", async () => {
  const { start, output, ports, waitForDelivery } = await openGuide();
  const card = await output("first-card-env");
  expect(card).toMatch(/^card_\w{16} http:\S+\/cards\/\w+\n/m);
  // The README sets the variables without a file.
  expect(await output("first-card")).toBe(card);
  const [, page = ""] = card.trim().split(" ");
  expect((await fetch(page)).status).toBe(200);
  const shown: string[] = [];
  const show = (region: string, text: string) =>
    shown.push(
      `# #region ${region}\n${normalize(text.trimEnd(), ports.service)}\n# #endregion\n`,
    );
  show("first-card", card);
  await findLine(start("start-express"), /The shop is open/);
  const showJson = async (region: string, command = region) =>
    show(region, JSON.stringify(JSON.parse(await output(command)), null, 2));
  await showJson("sign-up");
  await showJson("sign-up-again", "sign-up");
  show("purchase", await output("purchase"));
  await waitForDelivery();
  await showJson("users");
  await expect(shown.join("\n")).toMatchFileSnapshot("commands.output.txt");
});

it.each(["express", "fastify"])(
  "issues one card for a form that is sent twice, and shows each purchase, also one that arrives before the card's id is stored: %s",
  async (framework) => {
    const { start, output, control, waitForDelivery } = await openGuide();
    await findLine(start(`start-${framework}`), /The shop is open/);
    const listCards = async () => {
      const response = await fetch(`${control}/cards`);
      return ((await response.json()) as { items: { id: string }[] }).items;
    };

    const { userId, page, apple } = JSON.parse(await output("sign-up")) as SignedUp;
    expect(apple).toBe(`${page}/pass.pkpass`);
    expect(JSON.parse(await output("sign-up"))).toEqual({
      message: "You are a member.",
    });
    const cards = await listCards();
    expect(cards).toHaveLength(1);

    expect(await output("purchase")).toMatch(/^Purchase of 120 points: /);
    await waitForDelivery();
    const anna = { id: userId, cardId: cards[0]?.id, balance: 120 };
    expect(JSON.parse(await output("users"))).toMatchObject([anna]);

    // Ben's card is issued, and the shop gets no response.
    await post(`${control}/faults`, {
      phase: "after-commit",
      kind: "status",
      status: 503,
    });
    expect(JSON.parse(await output("sign-up-ben"))).not.toHaveProperty("page");
    const ofBen = (await listCards()).find(({ id }) => id !== anna.cardId);
    await post(`${control}/cards/${ofBen?.id}/purchase`, { points: 50 });
    await waitForDelivery(2);

    await fetch(`${control}/faults`, { method: "DELETE" });
    await expect
      .poll(async () => JSON.parse(await output("users")))
      .toMatchObject([anna, { cardId: ofBen?.id, balance: 50 }]);
    // The command takes the card of the last user.
    expect(await output("purchase")).toMatch(/^Purchase of 120 points: /);
    await waitForDelivery(3);
    expect(JSON.parse(await output("users"))).toMatchObject([
      { name: "Anna", balance: 120 },
      { name: "Ben", balance: 170 },
    ]);
  },
);

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

async function openMock() {
  const mock = await startMockServer();
  onTestFinished(mock.close);
  return mock;
}

// G9
it("issues separate cards to people who join after a restart of the shop", async () => {
  const mock = await openMock();
  await (await openShop(mock)).signUp({ name: "Anna", phone: "600100200" });
  const second = await openShop(mock);
  await second.signUp({ name: "Ben", phone: "600100201" });
  const [ben] = (await second.listUsers()) as { cardId: string }[];
  expect(mock.service.cards.get(ben?.cardId ?? "").fieldValues["name"]).toBe("Ben");
});

it("signs up people whose forms have no phone, no email or neither, also while the service is down, and says what the service rejects", async () => {
  const mock = await openMock();
  const { signUp, listUsers } = await openShop(mock);
  const forms = [
    { name: "Anna", phone: "600100200", email: "" },
    { name: "Ben", phone: "600100201", email: "" },
    { name: "Anna", phone: "", email: "anna@example.com" },
    { name: "Ben", phone: "", email: "ben@example.com" },
    { name: "Anna", phone: "", email: "" },
    { name: "Ben", phone: "", email: "" },
  ];
  const pages = new Set<string | undefined>();
  for (const form of forms) {
    const { status, body } = await signUp(form);
    expect([form, status]).toEqual([form, 201]);
    pages.add(body.page);
  }
  expect(pages.size).toBe(forms.length);

  const fault = { phase: "before", kind: "status", status: 503 } as const;
  const { id } = mock.service.faults.add(fault);
  const celina = { name: "Celina", email: "celina@example.com" };
  expect((await signUp(celina)).status).toBe(202);
  mock.service.faults.remove(id);
  await expect
    .poll(async () => ((await listUsers()) as object[]).at(-1))
    .toMatchObject({ name: "Celina", cardId: expect.any(String) });
  expect(
    await signUp({ name: "Ben", email: "dan@example.com", phone: "12" }),
  ).toMatchObject({
    status: 422,
    body: { message: "The phone number is not valid." },
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
