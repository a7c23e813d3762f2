/** The path of a call: few frames of the package between the method and the transport. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { createIssuingClient, type IssuingClient } from "../src/index.ts";
import { apiKey, card, json, signUp, template } from "./scripted.ts";

const limit = Error.stackTraceLimit;
beforeEach(() => {
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
});
afterEach(() => {
  Error.stackTraceLimit = limit;
});

/** The functions of the package in the stack of each request, the transport's caller first. */
async function recordFrames(call: (client: IssuingClient) => Promise<unknown>, statuses: readonly number[]) {
  const stacks: string[][] = [];
  const responses = statuses.map((status) => json(card, status));
  const fetch = async () => {
    const frames = new Error().stack?.split("\n") ?? [];
    stacks.push(frames.filter((frame) => /\/issuing-client\/src\/(?!transport\.ts)/.test(frame)));
    return responses[stacks.length - 1] ?? json(card);
  };
  await call(
    createIssuingClient({ baseUrl: "https://cards.test", apiKey, fetch, testing: { random: () => 0 } }),
  );
  return stacks;
}

it.each([
  ["issueCard for a user", (client: IssuingClient) => client.issueCard(template.id, signUp, { userId: 1 })],
  [
    "issueCard with a key",
    (client: IssuingClient) => client.issueCard(template.id, signUp, { idempotencyKey: "order-1" }),
  ],
  ["getCard", (client: IssuingClient) => client.getCard("card_1")],
  ["setConsent", (client: IssuingClient) => client.setConsent("card_1", { marketing: true })],
])(
  "has at most six frames of the package between %s and the transport, also in a retry",
  async (_name, call) => {
    const [first = [], retry = []] = await recordFrames(call, [503, 200]);
    expect(first.length).toBeGreaterThanOrEqual(4);
    expect(first.length, first.join("\n")).toBeLessThanOrEqual(6);
    expect(retry.length, retry.join("\n")).toBeLessThanOrEqual(6);
  },
);
