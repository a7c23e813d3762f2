/** The client's examples in the README, run against the mock service. */
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import {
  createIssuingClient,
  type IssuingError,
} from "@loyalty-cards/issuing-client";
import {
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { issueCardOrCorrect, type User } from "./corrected-form.ts";
import { nextMoveAfter, toMessage } from "./failures.ts";
import { showCard as showLinks, toFieldMessages } from "./page.ts";

const template = {
  id: "tpl_coffee",
  name: "Coffee club",
  fields: [{ key: "name", type: "name", required: true }],
} as const;

async function open(options: MockServerOptions = {}) {
  const { url, service, close } = await startMockServer({
    templates: [template],
    ...options,
  });
  onTestFinished(close);
  return {
    url,
    service,
    loyalty: createIssuingClient({ baseUrl: url, apiKey: service.apiKeys.website }),
  };
}

it("issues one card per user, from the environment", async () => {
  const { url, service } = await open();
  Object.assign(process.env, {
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: template.id,
  });
  const { issueCardTo } = await import("./issue.ts");
  const anna = { id: crypto.randomUUID(), name: "Anna", phone: "+48600100200" };
  const card = await issueCardTo(anna);
  expect((await issueCardTo(anna)).id).toBe(card.id);
});

it("shows wallet buttons whose images and links exist", async () => {
  const { loyalty } = await open();
  const card = await loyalty.issueCard(
    template.id,
    {
      fieldValues: { name: "Anna" },
      customer: { consents: { privacy: { version: "1" } } },
    },
    { userId: 1 },
  );
  const addresses = [
    ...showLinks(card.publicUrl).matchAll(/(?:href|src)="([^"]+)"/g),
  ].map(([, address = ""]) => address);
  expect(addresses.slice(0, 2)).toEqual([
    `${card.publicUrl}/pass.pkpass`,
    expect.stringMatching(/\/assets\/add-to-apple-wallet\.svg$/),
  ]);
  const responses = await Promise.all(addresses.map((address) => fetch(address)));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

it("issues a card through a proxy, with undici", async () => {
  const { url, service } = await open();
  const targets: (string | undefined)[] = [];
  const proxy = createServer().on("connect", ({ url: target }, socket) => {
    targets.push(target);
    const upstream = connect(Number(new URL(url).port), "127.0.0.1", () =>
      socket.write("HTTP/1.1 200 OK\r\n\r\n"),
    );
    upstream.pipe(socket).pipe(upstream);
    onTestFinished(() => void upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  Object.assign(process.env, {
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
    HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    NO_PROXY: "",
  });
  const { loyalty } = await import("./undici.ts");
  const { joinCoffeeClub } = await import("./issue.ts");
  expect(await joinCoffeeClub(loyalty, crypto.randomUUID(), "Ben")).toBe("Ben");
  expect(targets).toEqual([new URL(url).host]);
});

it("types the fields of a template", async () => {
  const { loyalty } = await open();
  const { joinCoffeeClub } = await import("./issue.ts");
  expect(await joinCoffeeClub(loyalty, crypto.randomUUID(), " Anna ")).toBe("Anna");
});

it("chooses the next action after each error", async () => {
  const { url, service, loyalty } = await open();
  const failure = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (error: IssuingError) => error,
    );
  const request = { customer: { consents: { privacy: { version: "1" } } } };
  const down = createIssuingClient({
    baseUrl: "http://127.0.0.1:1",
    apiKey: "k",
    maxRetries: 0,
  });
  const stranger = createIssuingClient({ baseUrl: url, apiKey: "k" });
  expect(
    nextMoveAfter(
      await failure(loyalty.issueCard(template.id, request, { userId: 1 })),
    ),
  ).toEqual({
    show: 'Please fill in "name".',
  });
  expect(nextMoveAfter(await failure(down.getCard("card_1")))).toEqual({
    tryAgainLater: true,
  });
  expect(nextMoveAfter(await failure(stranger.getCard("card_1")))).toHaveProperty(
    "callADeveloper",
  );
  expect(() => nextMoveAfter(new RangeError("mine"))).toThrow("mine");
  expect(service.baseUrl).toBe(url);
});

it("shows an error in the visitor's language, and a code without a text in English", () => {
  const error = {
    code: "server",
    userMessage: "Your card is not available.",
  } as const;
  expect(toMessage(error, "pl")).toMatch(/^Nie możemy/);
  expect(toMessage(error, "en")).toBe(error.userMessage);
  expect(toMessage({ ...error, code: "rejected" }, "pl")).toBe(error.userMessage);
});

it("names the message for each input of a form", async () => {
  const { loyalty } = await open();
  const request = {
    customer: { phone: "12", consents: { privacy: { version: "1" } } },
  };
  const error = await loyalty
    .issueCard(template.id, request, { userId: 1 })
    .catch((thrown: unknown) => thrown);
  expect([...toFieldMessages(error).keys()]).toEqual([
    "/fieldValues/name",
    "/customer/phone",
  ]);
  expect(() => toFieldMessages(new RangeError("mine"))).toThrow("mine");
});

it.each([true, false])(
  "issues one card to a form that is corrected after a 422; the service stores refusals: %s",
  async (storeRefusals) => {
    const { url, loyalty } = await open({ storeRefusals });
    const user: User = { id: crypto.randomUUID(), name: "Anna", phone: "12" };
    expect(await issueCardOrCorrect(loyalty, template.id, user)).toBe(
      "The phone number is not valid.",
    );
    user.phone = "+48600100200";
    expect(await issueCardOrCorrect(loyalty, template.id, user)).toBeUndefined();
    const { cardId } = user;
    expect(cardId).toEqual(expect.any(String));
    await issueCardOrCorrect(loyalty, template.id, user);
    expect(user.cardId).toBe(cardId);
    const { items } = (await (await fetch(`${url}/_mock/cards`)).json()) as {
      items: unknown[];
    };
    expect(items).toHaveLength(1);
  },
);

it("keeps the key of a call whose outcome is unknown, so that the repeated call returns the issued card", async () => {
  const { url, service, loyalty } = await open();
  const user: User = {
    id: crypto.randomUUID(),
    name: "Anna",
    phone: "+48600100200",
  };
  const { id } = service.faults.add({
    phase: "after-commit",
    kind: "status",
    status: 503,
  });
  await expect(
    issueCardOrCorrect(loyalty, template.id, user),
  ).rejects.toMatchObject({ outcome: "unknown" });
  service.faults.remove(id);
  await issueCardOrCorrect(loyalty, template.id, user);
  const { items } = (await (await fetch(`${url}/_mock/cards`)).json()) as {
    items: { id: string }[];
  };
  expect(items.map((card) => card.id)).toEqual([user.cardId]);
});
