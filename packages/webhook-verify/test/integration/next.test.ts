/** The Next adapters: `after` of next/server, and `next build`. */
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { nextPagesHandler, nextRoute } from "../../src/adapters/next.ts";
import { balanceChanged, createGate, secret, signedDelivery } from "../signed-delivery.ts";

it("passes the work after the response to `after` of next/server", async () => {
  const tasks: (() => Promise<void>)[] = [];
  const seen: string[] = [];
  const route = nextRoute({
    secret,
    afterResponse: (event) => void seen.push(event.id),
    after: (task) => tasks.push(task),
  });
  const { body, headers } = signedDelivery(balanceChanged());
  const response = await route(new Request("https://shop.test/webhooks", { method: "POST", body, headers }));
  expect([response.status, seen]).toEqual([204, []]);
  for (const task of tasks) await task();
  expect(seen).toEqual(["evt_1"]);
});

it("calls afterResponse when `after` of next/server throws", async () => {
  const processed = createGate();
  const log: string[] = [];
  const route = nextRoute({
    secret,
    afterResponse: processed.open,
    log: (line) => log.push(line),
    after() {
      throw new Error("outside a request scope");
    },
  });
  const { body, headers } = signedDelivery(balanceChanged());
  const request = new Request("https://shop.test/", { method: "POST", body, headers });
  expect((await route(request)).status).toBe(204);
  await processed.opened;
  expect(log).toEqual([expect.stringMatching(/afterResponse runs, but the platform may end before it\.$/)]);
});

it.each([
  ["nextRoute", nextRoute],
  ["nextPagesHandler", nextPagesHandler],
])(
  "%s does not call a secret function during `next build`, which may run without secrets",
  async (_name, create) => {
    const calls: string[] = [];
    for (const phase of ["phase-production-build", "phase-production-server"]) {
      process.env["NEXT_PHASE"] = phase;
      const loadSecret = () => {
        calls.push(phase);
        return secret;
      };
      create({ secret: loadSecret, handler: () => {} });
      await new Promise((resolve) => setTimeout(resolve, 0)); // after the timers that were started before
    }
    expect(calls).toEqual(["phase-production-server"]);
  },
);

it("nextRoute knows `after`, and nextPagesHandler does not", () => {
  const options = { secret, handler: () => {}, after: () => {} };
  expect(nextRoute(options)).toBeTypeOf("function");
  expect(() => nextRoute(undefined as never)).toThrow(/^nextRoute needs options: write nextRoute\(/);
  expect(() => nextPagesHandler(options)).toThrow(/nextPagesHandler has no option "after"/);
});

it.each([
  ["nextRoute", nextRoute, new IncomingMessage(new Socket()), /^nextRoute takes .*use nextPagesHandler/],
  [
    "nextPagesHandler",
    nextPagesHandler,
    new Request("https://shop.test/"),
    /^nextPagesHandler takes .*use nextRoute/,
  ],
])("%s in the other router says which function to use", async (_name, create, request, message) => {
  const receive = create({ secret, handler: () => {} }) as (request: unknown) => Promise<unknown>;
  await expect(receive(request)).rejects.toThrow(message);
});
