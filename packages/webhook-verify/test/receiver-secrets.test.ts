/** The receiver without a framework: a `secret` function, and how long its result is used. */
import { createGate } from "@loyalty-cards/testing/resources";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it } from "vitest";
import { lambdaReceiver } from "../src/adapters/lambda.ts";
import type { ReceiverOptions, Secret } from "../src/index.ts";
import { decideLoad } from "../src/secret-source.ts";
import { createTestClock, createTestReceiver, post } from "./test-receiver.ts";

const failures: [string, () => Promise<never>][] = [
  [
    "throws",
    () => {
      throw new Error("ada@example.com");
    },
  ],
  ["rejects", () => Promise.reject(new Error("ada@example.com"))],
];

describe("a `secret` function", () => {
  it("is called once, and again after a mismatch, at most every 30 seconds", async () => {
    const clock = createTestClock();
    let current: Secret = "whsec_old";
    let calls = 0;
    const { receive, deliver } = createTestReceiver({
      testing: { clock },
      secret: () => {
        calls++;
        return current;
      },
    });

    expect([await deliver(), calls]).toEqual([401, 2]);
    current = secret; // "New secret" was clicked
    clock.nowMs += 29_999;
    expect([await deliver(), calls]).toEqual([401, 2]);
    clock.nowMs += 1;
    expect([await deliver(), calls]).toEqual([204, 3]);
    clock.nowMs += 30_000;
    const signedList = await receive(post(signedDelivery("[]"))); // not a mismatch
    expect([await deliver(), signedList.status, calls]).toEqual([204, 400, 3]);
  });

  it("loads a new secret for all waiting deliveries", async () => {
    let current: Secret = "whsec_old";
    const { deliver } = createTestReceiver({ secret: async () => current });
    expect(await deliver("whsec_old")).toBe(204);
    current = secret;
    expect(await Promise.all([deliver(), deliver(), deliver()])).toEqual([204, 204, 204]);
  });

  it("does not block valid deliveries when it hangs or fails after a forged one", async () => {
    for (const fail of [
      () => new Promise<string>(() => {}),
      () => Promise.reject(new Error("vault sealed")),
    ]) {
      let calls = 0;
      const loadSecret = () => (calls++ === 0 ? secret : fail());
      const { deliver } = createTestReceiver({ timeoutMs: 300, secret: loadSecret });
      expect(await deliver()).toBe(204);
      const forged = deliver("whsec_other");
      expect(await deliver()).toBe(204);
      expect([401, 503]).toContain(await forged);
      expect(await deliver()).toBe(204);
    }
  });

  it.each(failures)("is called again one second after it %s, not earlier", async (_name, fail) => {
    const clock = createTestClock();
    let calls = 0;
    const { deliver } = createTestReceiver({
      testing: { clock },
      secret: () => (++calls < 3 ? fail() : secret),
    });
    expect([await deliver(), calls]).toEqual([500, 1]);
    clock.nowMs += 999;
    expect([await deliver(), calls]).toEqual([500, 1]);
    clock.nowMs += 1;
    expect([await deliver(), calls]).toEqual([500, 2]);
    clock.nowMs += 1000;
    expect([await deliver(), calls]).toEqual([204, 3]);
  });

  it("is called once for all deliveries that arrive meanwhile", async () => {
    const vault = createGate();
    let calls = 0;
    const { deliver } = createTestReceiver({
      secret: async () => {
        calls++;
        await vault.opened;
        return secret;
      },
    });
    const waiting = [deliver(), deliver(), deliver()];
    vault.open();
    expect([await Promise.all(waiting), calls]).toEqual([[204, 204, 204], 1]);
  });

  it.each<[() => unknown, RegExp]>([
    [() => Promise.reject(new Error("whsec_1 is sealed")), /threw Error at \S+:\d+\. The function/],
    [() => undefined, /returned undefined: is LOYALTY_SIGNING_SECRET set/],
    [() => [], /returned an empty list: pass at least one/],
    [() => `${undefined}`, /returned the text "undefined": is LOYALTY_SIGNING_SECRET set/],
    [async () => `${secret}\n`, /returned a string that ends with white space: trim it/],
    [
      async () => [{ key: secret, not_after: new Date(0) }],
      /"not_after"\. Did you mean notAfter\?/,
    ],
    [async () => [{ key: secret, notAfter: null }], /returned an object whose notAfter is not a/],
  ])("causes a 500 and a log line when %s is the function", async (lookUp, problem) => {
    const { deliver, log, outcomes } = createTestReceiver({ secret: lookUp as () => Secret });
    expect(await deliver()).toBe(500);
    expect(log).toEqual([
      expect.stringMatching(/^webhook-verify: the secret function .* must return the signing/),
    ]);
    expect(log[0]).toMatch(problem);
    expect(log.join()).not.toContain("whsec");
    expect(outcomes).toMatchObject([{ outcome: "misconfigured", reason: "no-secret" }]);
  });

  it("has the message of its error in the log when the receiver may log messages", async () => {
    const sealed = () => Promise.reject(new Error("vault sealed"));
    const { deliver, log } = createTestReceiver({ secret: sealed, logErrorMessages: true });
    expect(await deliver()).toBe(500);
    expect(log[0]).toMatch(/the secret function threw Error at \S+: vault sealed\./);
  });

  it("does not replace a newer secret by one whose call began earlier and ended later", async () => {
    const clock = createTestClock();
    const [begun, ended] = [createGate(), createGate()];
    let calls = 0;
    const { deliver } = createTestReceiver({
      testing: { clock },
      secret: async () => {
        calls++;
        if (calls > 1) return secret;
        begun.open();
        await ended.opened;
        return "whsec_old";
      },
    });
    await begun.opened; // the receiver calls the function when it is created
    clock.nowMs += 10_000;
    expect([await deliver(), calls]).toEqual([204, 2]);
    ended.open();
    await ended.opened;
    expect([await deliver(), await deliver(), calls]).toEqual([204, 204, 2]);
  });
});

describe("decideLoad", () => {
  const nowMs = 100_000;
  const loaded = (ageMs: number) => ({ value: [], startedMs: nowMs - ageMs });
  const failed = (agoMs: number) => ({ failure: "it threw", atMs: nowMs - agoMs });
  const waits = { usable: undefined, isAging: false };

  it.each([
    ["nothing", undefined, undefined, waits],
    ["a failure", undefined, failed(999), { usable: failed(999), isAging: false }],
    ["an earlier failure", undefined, failed(1_000), waits],
    ["keys", loaded(7_999), undefined, { usable: loaded(7_999), isAging: false }],
    ["aging keys", loaded(8_000), undefined, { usable: loaded(8_000), isAging: true }],
    ["and a failure", loaded(8_000), failed(999), { usable: loaded(8_000), isAging: false }],
    ["old keys", loaded(10_000), undefined, waits],
    ["and a failure", loaded(10_000), failed(999), { usable: failed(999), isAging: false }],
  ])("decides what a delivery uses: %s", (_name, keys, failure, decision) => {
    expect(decideLoad({ loaded: keys, failed: failure }, 10_000, nowMs)).toEqual(decision);
  });
});

describe("a `secret` function at the start", () => {
  const laterTimers = () => new Promise((resolve) => setTimeout(resolve, 0));

  it.each([true, false])(
    "is called once, and its result is used (before a delivery: %s)",
    async (isFirst) => {
      let calls = 0;
      const { deliver, log } = createTestReceiver({ secret: () => (calls++ === 0 ? secret : "") });
      expect(calls).toBe(0);
      if (isFirst) await laterTimers();
      expect(calls).toBe(isFirst ? 1 : 0);
      expect(await deliver()).toBe(204);
      await laterTimers();
      expect([calls, log]).toEqual([1, []]);
    },
  );

  it.each(failures)(
    "that %s causes one log line, and no rejection, and is called again for the first delivery",
    async (_name, fail) => {
      let calls = 0;
      const { deliver, log } = createTestReceiver({
        secret: () => (calls++ === 0 ? fail() : secret),
      });
      await laterTimers();
      await new Promise(setImmediate);
      expect(log).toEqual([
        expect.stringMatching(
          /the secret function threw Error at \S+:\d+\. .* Until it does, .* 500\..*webhook-no-secret/,
        ),
      ]);
      expect(log.join()).not.toContain("ada");
      expect(await deliver()).toBe(204);
    },
  );

  it("is not called where nothing may run between deliveries, as in Lambda", async () => {
    let calls = 0;
    lambdaReceiver({ secret: () => String(calls++), handler: () => {} });
    await laterTimers();
    expect(calls).toBe(0);
  });

  it("is not called where timers cannot be started yet, as in the global scope of Workers", async () => {
    const { setTimeout: start } = globalThis;
    globalThis.setTimeout = (() => {
      throw new Error("Disallowed operation called within global scope.");
    }) as unknown as typeof start;
    let created: ReturnType<typeof createTestReceiver>;
    try {
      created = createTestReceiver({ secret: () => secret });
    } finally {
      globalThis.setTimeout = start;
    }
    expect((await created.receive(post(signedDelivery(balanceChanged())))).status).toBe(204);
    expect(created.log).toEqual([]);
  });
});

describe("secretMaxAgeSeconds", () => {
  /** A receiver, its clock, and the `secret` function that a test can replace. */
  function createAging(options: Partial<ReceiverOptions> = {}) {
    const clock = createTestClock();
    const store = { calls: 0, current: (): Secret | Promise<Secret> => "whsec_old" };
    const loadSecret = () => {
      store.calls++;
      return store.current();
    };
    const receiver = createTestReceiver({ testing: { clock }, secret: loadSecret, ...options });
    return { clock, store, ...receiver };
  }

  // G18
  it.each([
    [undefined, 300],
    [60, 60],
    [0.5, 0.5],
  ])(
    "set to %s rejects a leaked secret after %d seconds, to the millisecond",
    async (secretMaxAgeSeconds, seconds) => {
      const { clock, store, deliver } = createAging(
        secretMaxAgeSeconds === undefined ? {} : { secretMaxAgeSeconds },
      );
      expect(await deliver("whsec_old")).toBe(204);
      store.current = () => new Promise(() => {}); // so that nothing is loaded in the background
      clock.nowMs = seconds * 1000 - 1;
      expect(await deliver("whsec_old")).toBe(204);
      store.current = () => secret;
      clock.nowMs += 10_000; // past the timeout of the call that hangs
      expect([await deliver("whsec_old"), await deliver(secret)]).toEqual([401, 204]);
    },
  );

  it("counts from the start of the call, because the secret may be replaced while it runs", async () => {
    const { clock, store, deliver } = createAging();
    const [asked, vault] = [createGate(), createGate()];
    store.current = () => {
      asked.open();
      return vault.opened.then(() => "whsec_old");
    };
    const first = deliver("whsec_old");
    await asked.opened;
    clock.nowMs = 5_000;
    vault.open();
    expect(await first).toBe(204);
    store.current = () => secret;
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(401);
  });

  it("refreshes in the background after four fifths of the time, so that no delivery waits", async () => {
    const { clock, store, deliver } = createAging();
    await deliver("whsec_old");
    const vault = createGate();
    store.current = () => vault.opened.then(() => secret);
    clock.nowMs = 240_000;
    expect([await deliver("whsec_old"), await deliver("whsec_old"), store.calls]).toEqual([
      204, 204, 2,
    ]);
    vault.open();
    await new Promise(setImmediate); // the remaining promises are already settled
    expect([await deliver(secret), store.calls]).toEqual([204, 2]);
    clock.nowMs = 240_000 + 239_999;
    expect([await deliver(secret), store.calls]).toEqual([204, 2]);
  });

  it("calls the function again when its background call fails after the process was frozen", async () => {
    const { clock, store, deliver } = createAging();
    expect(await deliver("whsec_old")).toBe(204);
    clock.nowMs += 250_000;
    const thawed = createGate();
    store.current = () => thawed.opened.then(() => Promise.reject(new Error("socket hang up")));
    expect(await deliver("whsec_old")).toBe(204);
    clock.nowMs += 600_000;
    thawed.open();
    store.current = () => "whsec_old";
    await new Promise(setImmediate); // the call has failed
    expect([await deliver("whsec_old"), store.calls]).toEqual([204, 3]);
  });

  it("does not depend on `now`, which may stand still or be set back", async () => {
    let nowMs = Date.now();
    const { clock, store, deliver } = createAging({ now: () => nowMs, toleranceSeconds: 1_000 });
    await deliver("whsec_old");
    store.current = () => secret;
    nowMs -= 500_000;
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(401);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("vault sealed"))],
    ["returns nothing", () => ""],
  ])("causes 500 after that time when the function %s, until it works", async (_name, fail) => {
    const { clock, store, deliver, log, outcomes } = createAging();
    await deliver("whsec_old");
    store.current = fail;
    clock.nowMs = 299_999;
    expect(await deliver("whsec_old")).toBe(204); // the failure in the background costs nothing yet
    clock.nowMs = 301_000;
    expect([await deliver("whsec_old"), await deliver(secret)]).toEqual([500, 500]);
    expect(log.at(-1)).toMatch(/the secret function (threw Error at|returned an empty string)/);
    expect(outcomes.at(-1)).toMatchObject({ outcome: "misconfigured", reason: "no-secret" });
    store.current = () => secret;
    clock.nowMs = 302_000;
    expect([await deliver(secret), await deliver("whsec_old")]).toEqual([204, 401]); // accepted when delivered again
  });

  it("causes 503 in time when the function hangs, calls it again after ten seconds, and ignores the late result", async () => {
    const handled: string[] = [];
    const handler = ({ id }: { id: string }) => void handled.push(id);
    const { clock, store, deliver, outcomes, log } = createAging({ timeoutMs: 100, handler });
    await deliver("whsec_old");
    const late = createGate();
    store.current = () => late.opened.then(() => "whsec_old");
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(503);
    expect(outcomes.at(-1)).toMatchObject({ reason: "secret-timeout" });
    expect(log.at(-1)).toMatch(
      /: the `secret` function took .* or check why it is slow\. See \S+$/,
    );
    store.current = () => secret;
    clock.nowMs = 309_999;
    expect([await deliver(secret), store.calls]).toEqual([503, 2]);
    clock.nowMs = 310_000;
    expect([await deliver(secret), store.calls]).toEqual([204, 3]);
    late.open();
    await new Promise(setImmediate); // the remaining promises are already settled
    expect([await deliver(secret), await deliver("whsec_old")]).toEqual([204, 401]);
    expect(handled).toHaveLength(3); // one for each 204
  });
});
