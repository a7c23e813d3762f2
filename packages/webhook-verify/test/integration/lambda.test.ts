/** The Lambda adapter: events that are no deliveries, and base64. */
import { expect, it } from "vitest";
import { lambdaReceiver } from "../../src/adapters/lambda.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

it.each([
  ["the console's test event", {}],
  [
    "an event without headers or body",
    { httpMethod: "POST", headers: null, multiValueHeaders: null, body: null },
  ],
  ["a schedule", { source: "aws.events", "detail-type": "Scheduled Event" }],
] as [string, Parameters<ReturnType<typeof lambdaReceiver>>[0]][])(
  "responds to %s without throwing",
  async (_name, event) => {
    const receive = lambdaReceiver({ secret, handler: () => {} });
    expect([401, 405]).toContain((await receive(event)).statusCode);
  },
);

it("does not decode a body over the limit", async () => {
  const receive = lambdaReceiver({ secret, handler: () => {}, maxBodyBytes: 300 });
  const event = (length: number) => {
    const raw = JSON.stringify(balanceChanged()).padEnd(length);
    const { body, headers } = signedDelivery(raw);
    return {
      requestContext: { http: { method: "POST" } },
      headers,
      body: Buffer.from(body).toString("base64"),
      isBase64Encoded: true,
    };
  };
  expect((await receive(event(300))).statusCode).toBe(204);
  expect((await receive(event(301))).statusCode).toBe(413);
  expect((await receive(event(3000))).statusCode).toBe(413);
});

it("responds 400 to invalid base64", async () => {
  const { headers } = signedDelivery(balanceChanged());
  const event = { httpMethod: "POST", headers, body: "%%%", isBase64Encoded: true };
  expect((await lambdaReceiver({ secret, handler: () => {} })(event)).statusCode).toBe(400);
});
