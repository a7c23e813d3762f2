/** The page "Check a signature" agrees with the verifier, and says what happened to a body. */
import signatures from "@loyalty-cards/openapi/vectors" with { type: "json" };
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { expect, it } from "vitest";
import { checkDelivery } from "../../../docs/.vitepress/check-delivery.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");

it.each(signatures.vectors)(
  "gives the verdict of the vector: $name",
  async ({ body, secrets, ...vector }) => {
    const { verdict } = await checkDelivery({
      signature: vector.header,
      rawBody: decode(body),
      secret: secrets.map(decode),
      now: () => vector.nowSeconds * 1_000,
      toleranceSeconds: vector.toleranceSeconds,
    });
    expect(verdict).toBe(vector.reason ?? "valid");
  },
);

const body = JSON.stringify({
  id: "evt_1",
  type: "ping",
  createdAt: "2026-01-01T00:00:00Z",
  data: {},
});

it.each([
  ["valid", body, "whsec_1", /belong to this signature: ping, evt_1/],
  ["mismatch", `${body}\n`, "whsec_1", /without the line break at the end/],
  ["mismatch", body, "whsec_2", /Expected for this secret and body: v1=[\da-f]{64}$/],
])(
  "explains an old delivery by its age and its signature: %s %#",
  async (_name, sent, secret, explanation) => {
    const signature = signWebhookSync({
      rawBody: body,
      secret: "whsec_1",
      timestamp: 1_767_225_600,
    });
    const result = await checkDelivery({ signature, rawBody: Buffer.from(sent), secret });
    expect(result.verdict).toBe("stale");
    expect(result.explanation).toMatch(/^It was signed .+ ago\. Apart from that: /);
    expect(result.explanation).toMatch(explanation);
  },
);
