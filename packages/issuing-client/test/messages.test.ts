/** The visitor's language: `messages` by code, `accept-language` in every call, and reasons of fields. */
import { describe, expect, it } from "vitest";
import { createIssuingClient, defineTemplate, type IssuingErrorCode } from "../src/index.ts";
import { catchIssuingError, json, scripted, signUp, template } from "./scripted.ts";

const polish = {
  validation: "Popraw zaznaczone pola.",
  "not-found": "Karta jest chwilowo niedostępna.",
  unauthorized: "Karta jest chwilowo niedostępna.",
  forbidden: "Karta jest chwilowo niedostępna.",
  conflict: "Twoja karta jest właśnie wydawana.",
  "rate-limited": "Za dużo zgłoszeń. Twoja karta pojawi się wkrótce.",
  rejected: "Nie możemy wydać karty. Skontaktuj się ze sklepem.",
  server: "Twoja karta pojawi się wkrótce.",
  network: "Twoja karta pojawi się wkrótce.",
  timeout: "Twoja karta pojawi się wkrótce.",
  deadline: "Twoja karta pojawi się wkrótce.",
  "invalid-response": "Twoja karta pojawi się wkrótce.",
  "idempotency-mismatch": "To zgłoszenie jest już przetwarzane.",
  "idempotency-expired": "Skontaktuj się ze sklepem.",
  configuration: "Karta jest chwilowo niedostępna.",
} satisfies Record<IssuingErrorCode, string>;

describe("messages", () => {
  it.each([
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "not-found"],
    [409, "conflict"],
    [418, "rejected"],
    [422, "validation"],
    [429, "rate-limited"],
    [503, "server"],
  ] as [number, keyof typeof polish][])("replace the userMessage of a %i", async (status, code) => {
    const responses = [json({ detail: "English words" }, status)];
    const { client } = scripted(responses, { messages: polish, maxRetries: 0 });
    const error = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect([error.code, error.userMessage]).toEqual([code, polish[code]]);
    expect(JSON.stringify(error)).not.toContain(polish[code]);
  });

  it("replace it in every method, for errors before the request, and for each caller of a shared request", async () => {
    const { client } = scripted([json({}, 503), json({}, 503)], { messages: polish, maxRetries: 0 });
    const invalid = await catchIssuingError(client.getCard(""));
    expect(invalid.userMessage).toBe(polish.configuration);
    expect((await catchIssuingError(client.getConsent("card_1"))).userMessage).toBe(polish.server);
    const calls = [1, 2].map(() => client.issueCard(template.id, signUp, { userId: 1 }));
    for (const call of calls) expect((await catchIssuingError(call)).userMessage).toBe(polish.server);
  });

  it("leave a missing code as it is: the detail of a 422, else the general sentence", async () => {
    const messages = { server: polish.server };
    const responses = [json({ detail: "The phone number is not valid." }, 422), json({}, 404)];
    const { client } = scripted(responses, { messages });
    const call = () => catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect((await call()).userMessage).toBe("The phone number is not valid.");
    expect((await call()).userMessage).toBe("Your loyalty card is not available right now.");
  });

  it("are checked: a code that does not exist, and a blank text", () => {
    const create = (messages: object) =>
      createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key", messages });
    expect(() => create({ validaton: "x" })).toThrow('messages has "validaton", which is not a code');
    expect(() => create({ server: " " })).toThrow("messages.server must be a text that is not blank");
    expect(() => create({ server: 7 })).toThrow("messages.server must be a text that is not blank");
  });
});

describe("headers of the client", () => {
  it("are sent with every call, and those of a call take precedence", async () => {
    const { client, requests } = scripted([json({}, 404), json({}, 404), json({}, 404)], {
      headers: { "Accept-Language": "pl", accept: "text/html" },
    });
    await catchIssuingError(client.getCard("card_1"));
    await catchIssuingError(client.getCard("card_1", { headers: { "accept-language": "de" } }));
    await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
    expect(requests.map(({ headers }) => headers.get("accept-language"))).toEqual(["pl", "de", "pl"]);
    expect(requests[0]?.headers.get("accept")).toContain("application/json");
  });

  it("are checked when the client is created", () => {
    const headers = { "content-type": "text/plain" };
    expect(() =>
      createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key", headers }),
    ).toThrow('headers must not have "content-type"');
  });
});

it("a template with a schema has the reason of each value", async () => {
  const issues = [
    { message: "Required", path: ["name"] },
    { message: "Too long", path: ["city"] },
  ];
  const validate = () => ({ issues });
  const schema = { "~standard": { version: 1, vendor: "test", validate } } as never;
  const { client } = scripted([], { messages: polish });
  const error = await catchIssuingError(
    client.issueCard(
      defineTemplate("tpl_1", schema),
      { ...signUp, fieldValues: { city: "Ł" } },
      { userId: 1 },
    ),
  );
  expect(error.userMessage).toBe(polish.validation);
  expect(error.fields.map(({ reason }) => reason)).toEqual(["required", "format"]);
});
