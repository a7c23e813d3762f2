/** Neither the key nor a user's data shows, wherever one looks. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createIssuingClient } from "../src/index.ts";
import { apiKey, card, json, networkError, type Script, scripted, signUp } from "./website.ts";

const secrets = [apiKey, "600100200", "anna@example.com", "Anna Kowalska"];
const request = {
  fieldValues: { name: "Anna Kowalska" },
  customer: { ...signUp.customer, email: "anna@example.com", name: "Anna Kowalska" },
};

function surfacesOf(value: unknown): string {
  const parts = [
    inspect(value, { depth: 20, showHidden: true, getters: true }),
    JSON.stringify(value),
    String(value),
  ];
  if (value instanceof Error) parts.push(String(value.stack), surfacesOf(value.cause));
  return parts.join("\n");
}

function expectNoSecretIn(text: string): void {
  for (const secret of secrets) expect(text).not.toContain(secret);
}

describe("nothing secret shows", () => {
  it("in the client", () => {
    const client = createIssuingClient({ baseUrl: "https://cards.test", apiKey });
    expectNoSecretIn(surfacesOf(client));
    expectNoSecretIn(surfacesOf(client.api));
  });

  const hostile = Object.assign(new TypeError(`fetch to ${apiKey} failed`), {
    cause: {
      code: "ECONNRESET",
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(request),
    },
  });
  const endings: [string, Script][] = [
    ["a 500", json({ detail: "x" }, 500)],
    ["a 422", json({ detail: "x" }, 422)],
    ["an HTML page", new Response("<p>x", { status: 201 })],
    ["a reset", networkError("ECONNRESET")],
    ["an error that carries the request", hostile],
    ["half a card", json({ ...card, id: 1 }, 201)],
    ["a redirect", new Response(null, { status: 302, headers: { location: "https://evil.test" } })],
  ];

  it.each(endings)("in the error or the events after %s", async (_name, ending) => {
    const { client, events } = scripted([ending], { maxRetries: 0 });
    const error = await client
      .issueCard("tpl_club", request, { userId: "anna@example.com" })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expectNoSecretIn(surfacesOf(error));
    expectNoSecretIn(surfacesOf(events));
  });
});
