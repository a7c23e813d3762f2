/** The retry budget: all calls of a client share their retries, so that an outage does not multiply the load. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { createIssuingClient } from "../src/index.ts";
import { createRetryBudget, retryPolicy } from "../src/retry.ts";

async function serve() {
  const seen = { requests: 0, isDown: true, isPage: false };
  const server = createServer((request, response) => {
    seen.requests += 1;
    request.resume();
    if (seen.isDown) response.writeHead(503).end();
    else if (seen.isPage) response.writeHead(302, { location: "https://elsewhere.test" }).end();
    else
      response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"id":"card_1","publicUrl":"https://cards.test/1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { seen, client: createIssuingClient({ baseUrl, apiKey: "k", testing: { random: () => 0.01 } }) };
}

describe("over a real socket", () => {
  // G29
  it("sends few more than 300 requests for 300 calls during an outage, and gets its retries back after it", async () => {
    const { seen, client } = await serve();
    const startedMs = performance.now();
    let left = 300;
    const caller = async () => {
      while (left-- > 0) await client.getCard("card_1").catch(() => {});
    };
    await Promise.all(Array.from({ length: 30 }, caller));
    expect(seen.requests).toBeGreaterThanOrEqual(300);
    const { budget, budgetRegainMs } = retryPolicy;
    const regained = Math.ceil((performance.now() - startedMs) / budgetRegainMs);
    expect(seen.requests).toBeLessThanOrEqual(300 + budget + regained);

    seen.isDown = false;
    for (let call = 0; call < retryPolicy.budget; call++) await client.getCard("card_1");
    seen.isDown = true;
    seen.requests = 0;
    await client.getCard("card_1").catch(() => {});
    expect(seen.requests).toBe(3);
  });
});

describe("a failure that no retry can solve", () => {
  it("gives no retry back, because it does not show that the service is available", async () => {
    const { seen, client } = await serve();
    while (seen.requests < 300) await client.getCard("card_1").catch(() => {});
    Object.assign(seen, { isDown: false, isPage: true });
    for (let call = 0; call < retryPolicy.budget; call++) await client.getCard("card_1").catch(() => {});
    Object.assign(seen, { isDown: true, requests: 0 });
    await client.getCard("card_1").catch(() => {});
    expect(seen.requests).toBeLessThan(3);
  });
});

describe("the budget", () => {
  const { budget, budgetRegainMs } = retryPolicy;
  function emptied() {
    let nowMs = 0;
    const retries = createRetryBudget({ monotonicMs: () => nowMs });
    while (retries.take());
    return { retries, pass: (ms: number) => (nowMs += ms) };
  }
  const count = (retries: ReturnType<typeof createRetryBudget>) => {
    let taken = 0;
    while (retries.take()) taken += 1;
    return taken;
  };

  it("is full at first", () => {
    expect(count(createRetryBudget({ monotonicMs: () => 0 }))).toBe(budget);
  });

  it("gets one retry back for each success, up to its size", () => {
    const { retries } = emptied();
    retries.giveBack();
    retries.giveBack();
    expect(count(retries)).toBe(2);
    for (let success = 0; success < budget * 2; success++) retries.giveBack();
    expect(count(retries)).toBe(budget);
  });

  it("gets one retry back every two seconds, up to its size", () => {
    const { retries, pass } = emptied();
    pass(budgetRegainMs - 1);
    expect(count(retries)).toBe(0);
    pass(1);
    expect(count(retries)).toBe(1);
    pass(budgetRegainMs * budget * 2);
    expect(count(retries)).toBe(budget);
  });

  it("keeps its retries when the clock goes back", () => {
    const { retries, pass } = emptied();
    retries.giveBack();
    pass(-1_000_000);
    expect(count(retries)).toBe(1);
  });

  it("never exceeds its size, for random calls", () => {
    const step = fc.oneof(
      fc.constant("take" as const),
      fc.constant("success" as const),
      fc.integer({ min: 0, max: 10_000 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let nowMs = 0;
        const retries = createRetryBudget({ monotonicMs: () => nowMs });
        for (const next of steps) {
          if (next === "take") retries.take();
          else if (next === "success") retries.giveBack();
          else nowMs += next;
        }
        expect(count(retries)).toBeLessThanOrEqual(budget);
      }),
    );
  });
});
