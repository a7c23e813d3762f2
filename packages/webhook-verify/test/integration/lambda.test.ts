/** The Lambda adapter, for every kind of event that carries a request. */
import { expect, it } from "vitest";
import { type LambdaEvent, lambdaReceiver } from "../../src/adapters/lambda.ts";
import { describeAdapter } from "../adapter-contract.ts";
import { bridged, type EventShape, eventShapes } from "../lambda-bridge.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

for (const shape of Object.keys(eventShapes) as EventShape[]) {
  describeAdapter(`Lambda behind ${shape}`, {
    readsByItself: false,
    freezesAfterAnswer: true,
    start: async (options) => bridged(shape, lambdaReceiver(options)),
    startWithBodyParsed: async (options) => {
      const receive = lambdaReceiver(options);
      return bridged(shape, (event) => receive({ ...event, body: { parsed: event.body } as never }));
    },
    fix: /httpJsonBodyParser/,
  });
}

it.each([
  ["the console's test event", {}],
  [
    "an event without headers or body",
    { httpMethod: "POST", headers: null, multiValueHeaders: null, body: null },
  ],
  ["a schedule", { source: "aws.events", "detail-type": "Scheduled Event" }],
] as [string, LambdaEvent][])("answers %s without throwing", async (_name, event) => {
  const receive = lambdaReceiver({ secret, accept: () => {} });
  expect([401, 405]).toContain((await receive(event)).statusCode);
});

it("does not decode what is over the limit", async () => {
  const receive = lambdaReceiver({ secret, accept: () => {}, maxBodyBytes: 300 });
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

it("answers 400 to base64 that is none", async () => {
  const { headers } = signedDelivery(balanceChanged());
  const event = { httpMethod: "POST", headers, body: "%%%", isBase64Encoded: true };
  expect((await lambdaReceiver({ secret, accept: () => {} })(event)).statusCode).toBe(400);
});
