/**
 * The receiver without a framework: handler, afterResponse, inbox, deduplication, and memoryDedupe.
 */
import { createGate } from "@loyalty-cards/testing/resources";
import { balanceChanged, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it } from "vitest";
import {
  type DedupeStore,
  type Delivery,
  type Inbox,
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
} from "../src/index.ts";
import { createTestClock, createTestReceiver, post } from "./test-receiver.ts";

describe("accepting an event", () => {
  it.each(["read before the timeout", "first read after it", "copied with the delivery"])(
    "responds 503 when handler takes too long, and aborts its signal, %s",
    async (moment) => {
      const deliveries: Delivery[] = [];
      const { opened, open } = createGate();
      const { receive, outcomes } = createTestReceiver({
        timeoutMs: 100,
        handler: (_event, delivery) => {
          if (moment.startsWith("read before")) expect(delivery.signal.aborted).toBe(false);
          deliveries.push(moment.startsWith("copied") ? { ...delivery } : delivery);
          return opened;
        },
      });
      const response = await receive(post(signedDelivery(balanceChanged())));
      open();
      expect(response.status).toBe(503);
      const reason = new Error("The receiver responded because of its timeout.");
      expect(deliveries[0]?.signal.reason).toEqual(reason);
      expect(outcomes).toMatchObject([{ outcome: "failed", reason: "timeout" }]);
    },
  );

  it("responds 204 to an event that the inbox stored, and to one that it had already", async () => {
    const results: ("stored" | "duplicate")[] = ["stored", "duplicate"];
    const bodies: string[] = [];
    const processed: string[] = [];
    const { receive, outcomes } = createTestReceiver({
      afterResponse: ({ id }) => void processed.push(id),
      inbox: {
        put: async (_event, { body }, { signal }) => {
          bodies.push(signal.aborted ? "too late" : Buffer.from(body).toString());
          return results.shift() ?? "duplicate";
        },
      },
    });
    const delivery = signedDelivery(balanceChanged());
    const responses = [await receive(post(delivery)), await receive(post(delivery))];
    expect(responses.map(({ status }) => status)).toEqual([204, 204]);
    for (const { afterResponse } of responses) await afterResponse?.();
    expect(processed).toEqual(["evt_1"]);
    expect(bodies).toEqual([delivery.body, delivery.body]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["stored", "duplicate"]);
  });

  it.each([
    ["handler", 503, { "retry-after": "60" }, "failed", "so the service delivers again"],
    [
      "afterResponse",
      204,
      {},
      "after-response-failed",
      "the response was sent already: use an inbox",
    ],
  ])(
    "reports an error in %s, responds %i, and logs the location of the error and its consequence",
    async (name, status, headers, outcome, consequence) => {
      const error = new RangeError("+48600100200");
      const { receive, log, outcomes } = createTestReceiver({
        [name]: () => Promise.reject(error),
      });
      const response = await receive(post(signedDelivery(balanceChanged())));
      await response.afterResponse?.();
      expect([response.status, response.headers]).toEqual([status, headers]);
      const place = /balance\.changed evt_1 failed: RangeError at .*receiver-handler\.test\.ts:\d+/;
      expect(log).toEqual([expect.stringMatching(place)]);
      expect(log[0]).toContain(consequence);
      expect(log[0]).toContain(" (logErrorMessages: true adds the message); ");
      expect(log[0]).not.toContain("600100200");
      const event = { id: "evt_1", type: "balance.changed" };
      expect(outcomes.at(-1)).toMatchObject({ outcome, error, status, event });
    },
  );

  // G8
  it("logs no text of an error whose message looks like a stack", async () => {
    const error = new Error("duplicate key\n    at +48600100200 (customers:1:1)\n    at more");
    const { receive, log } = createTestReceiver({ handler: () => Promise.reject(error) });
    await receive(post(signedDelivery(balanceChanged())));
    expect(log).toEqual([expect.stringMatching(/receiver-handler\.test\.ts:\d+/)]);
    expect(log.join()).not.toContain("600100200");
  });

  it.each<[Partial<ReceiverOptions>, number, string]>([
    [{ handler: () => onEvents({ otherTypes() {} }) }, 503, "handler returned a function, which"],
    [{ afterResponse: () => () => {} }, 204, "afterResponse returned a function, which nothing"],
    [
      { handler: onEvents as never },
      503,
      "onEvents was called with an event instead of handlers: call it once, as in handler: onEvents(",
    ],
    [
      { inbox: { put: async () => {} } as never },
      503,
      'inbox.put must resolve to "stored" or "duplicate"; it resolved to undefined; responded 503',
    ],
    [
      { dedupe: { ...memoryDedupe(), claim: async () => "OK" } as never, handler() {} },
      503,
      'dedupe.claim must return "new", "in-progress" or "done"; it returned string; responded 503',
    ],
  ])("never loses an event silently: %o", async (options, status, message) => {
    const { receive, log } = createTestReceiver(options);
    const response = await receive(post(signedDelivery(balanceChanged())));
    await response.afterResponse?.();
    expect([response.status, log]).toEqual([status, [expect.stringContaining(message)]]);
    expect(log[0]).toMatch(/[^.]; (responded 503|the response was sent already)/);
  });

  it("logs an error of handler that follows the response", async () => {
    const [late, written] = [createGate(), createGate()];
    const log: string[] = [];
    const { deliver } = createTestReceiver({
      timeoutMs: 10,
      handler: () => late.opened.then(() => Promise.reject(new Error("database down"))),
      log: (line) => {
        log.push(line);
        if (line.includes("failed: ")) written.open();
      },
    });
    expect(await deliver()).toBe(503);
    late.open();
    await written.opened;
    expect(log).toEqual([
      expect.stringMatching(
        /evt_1: handler, .* took longer than timeoutMs \(10 ms\).* See https:\S+#webhook-timeout$/,
      ),
      expect.stringMatching(/evt_1 failed: .* See https:\S+#webhook-handler-error$/),
    ]);
  });

  it("responds 503 to anything that handler throws, and logs it", async () => {
    const unreadable = new Proxy(new Error("x"), {
      get() {
        throw new Error("no property");
      },
    });
    for (const thrown of [null, "text", undefined, unreadable]) {
      const { deliver, log } = createTestReceiver({ handler: () => Promise.reject(thrown) });
      expect(await deliver()).toBe(503);
      expect(log).toEqual([expect.stringMatching(/failed: (a thrown |an unreadable error)/)]);
    }
  });
});

it("responds 204 only when handler has resolved, even if the inbox or the dedupe store knows the event", async () => {
  const known = new Set<string>();
  const inbox: Inbox = {
    put: async ({ id }) => {
      if (known.has(id)) return "duplicate";
      known.add(id);
      return "stored";
    },
  };
  for (const store of [{ inbox }, { dedupe: memoryDedupe() }]) {
    const results = [() => Promise.reject(new Error("down")), () => Promise.resolve()];
    const { deliver } = createTestReceiver({ ...store, handler: () => results.shift()?.() });
    expect([await deliver(), await deliver(), results]).toEqual([503, 204, []]);
  }
});

it("calls afterResponse when handler ends after the timeout, because the next delivery is a duplicate", async () => {
  const [late, done] = [createGate(), createGate()];
  const calls: string[] = [];
  const { receive, outcomes, log } = createTestReceiver({
    timeoutMs: 100,
    dedupe: memoryDedupe(),
    handler: () => {
      calls.push("handler");
      return late.opened;
    },
    afterResponse: (event) => {
      calls.push(event.id);
      done.open();
      throw new Error("the queue is down");
    },
  });
  const delivery = signedDelivery(balanceChanged());
  expect((await receive(post(delivery))).status).toBe(503);
  late.open();
  await done.opened;
  const response = await receive(post(delivery));
  await response.afterResponse?.();
  expect([response.status, calls]).toEqual([204, ["handler", "evt_1"]]);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["failed", "duplicate"]); // one for each response
  expect(log).toEqual([
    expect.stringContaining("evt_1: handler, the inbox or the dedupe store took longer"),
    expect.stringContaining("the response was sent already: use an inbox"),
  ]);
});

describe("after the timeout", () => {
  it("begins nothing when the dedupe store was slow, and releases the claim for the next delivery", async () => {
    const [claimed, ended] = [createGate(), createGate()];
    const calls: string[] = [];
    const memory = memoryDedupe();
    const { deliver, outcomes, log } = createTestReceiver({
      timeoutMs: 100,
      dedupe: {
        ...memory,
        claim: async (id) => {
          await claimed.opened;
          return memory.claim(id);
        },
        complete: (id) => {
          memory.complete(id);
          ended.open();
        },
        release: (id) => {
          memory.release(id);
          ended.open();
        },
      },
      inbox: {
        put: async () => {
          calls.push("put");
          return "stored";
        },
      },
      handler: () => void calls.push("handler"),
      afterResponse: () => void calls.push("afterResponse"),
    });
    expect(await deliver()).toBe(503);
    claimed.open();
    await ended.opened;
    await new Promise(setImmediate); // the remaining promises are already settled
    expect(calls).toEqual([]);
    expect(log).toEqual([
      expect.stringContaining("handler, the inbox or the dedupe store took longer"),
      expect.stringContaining(": the dedupe store took longer than timeoutMs"),
    ]);
    expect([await deliver(), calls]).toEqual([204, ["put", "handler"]]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["failed", "stored"]);
  });

  it("does not call handler when the inbox was slow", async () => {
    const [stored, ended] = [createGate(), createGate()];
    const results: ("stored" | "duplicate")[] = ["stored", "duplicate"];
    const calls: string[] = [];
    const { deliver } = createTestReceiver({
      timeoutMs: 100,
      inbox: {
        put: async () => {
          await stored.opened;
          return results.shift() ?? "duplicate";
        },
      },
      handler: () => {
        calls.push("handler");
        ended.open();
      },
      log: (line) => {
        calls.push(line);
        if (line.includes("failed: ")) ended.open();
      },
    });
    expect(await deliver()).toBe(503);
    stored.open();
    await ended.opened;
    expect(calls).toEqual([
      expect.stringContaining("handler, the inbox or the dedupe store took longer"),
      expect.stringContaining(": the inbox took longer than timeoutMs"),
    ]);
    expect([await deliver(), calls.slice(2)]).toEqual([204, ["handler"]]);
  });
});

describe("a handler that fails minutes after the timeout", () => {
  it.each([
    [299_999, "releases its claim", ["first", "third"]],
    [300_000, "does not release the claim of a later delivery", ["first", "second"]],
  ])("%i ms after its claim, %s", async (failedAtMs, _title, handled) => {
    const clock = createTestClock();
    const [failed, ended] = [createGate(), createGate()];
    const calls: (string | undefined)[] = [];
    const { receive } = createTestReceiver({
      timeoutMs: 50,
      dedupe: memoryDedupe({ testing: { clock } }),
      testing: { clock },
      handler: async (_event, { id }) => {
        calls.push(id);
        await failed.opened;
        if (id === "first") throw new Error("too late");
        await new Promise(() => {});
      },
      log: (line) => line.includes("failed: ") && ended.open(),
    });
    const deliver = async (id: string) => {
      const { body, headers } = signedDelivery(balanceChanged());
      const delivery = { body, headers: { ...headers, "service-delivery": id } };
      return (await receive(post(delivery))).status;
    };
    expect(await deliver("first")).toBe(503);
    clock.nowMs = failedAtMs;
    expect(await deliver("second")).toBe(503);
    failed.open();
    await ended.opened;
    expect([await deliver("third"), calls]).toEqual([503, handled]);
  });
});

describe("a duplicate", () => {
  it("responds 204 for an accepted event, and does not call handler again", async () => {
    let calls = 0;
    const { deliver, outcomes } = createTestReceiver({
      dedupe: memoryDedupe(),
      handler: () => void calls++,
    });
    expect([await deliver(), await deliver(), calls]).toEqual([204, 204, 1]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["verified", "duplicate"]);
  });

  it("responds 503 while the first delivery can still fail", async () => {
    const { opened, open } = createGate();
    const { deliver, outcomes, log } = createTestReceiver({
      dedupe: memoryDedupe(),
      handler: () => opened,
    });
    const first = deliver();
    expect(await deliver()).toBe(503);
    open();
    expect(await first).toBe(204);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["in-progress", "verified"]);
    expect(log).toEqual([]);
  });

  it("responds 503 when the dedupe store fails", async () => {
    const down = () => Promise.reject(new Error("redis down"));
    const released: string[] = [];
    const release = (id: string) => {
      released.push(id);
      return down();
    };
    const statusWith = async (claim: DedupeStore["claim"]) => {
      const dedupe = { claim, complete: down, release };
      return createTestReceiver({ dedupe, handler: () => {} }).deliver();
    };
    expect([await statusWith(down), released]).toEqual([503, []]); // another delivery may have the claim
    expect([await statusWith(() => "new"), released]).toEqual([503, ["evt_1"]]);
  });
});

describe("memoryDedupe", () => {
  const complete = (store: DedupeStore, id: string) => {
    const state = store.claim(id);
    if (state === "new") store.complete(id);
    return state;
  };

  it("returns new for the first claim and after a release, in-progress until it ends, then done", () => {
    const store = memoryDedupe();
    expect([store.claim("a"), store.claim("a")]).toEqual(["new", "in-progress"]);
    store.release("a");
    expect([complete(store, "a"), store.claim("a")]).toEqual(["new", "done"]);
  });

  it("removes an id after ttlSeconds, not earlier", () => {
    const clock = createTestClock();
    const store = memoryDedupe({ ttlSeconds: 10, testing: { clock } });
    complete(store, "a");
    clock.nowMs = 9_999;
    expect(store.claim("a")).toBe("done");
    clock.nowMs = 10_000;
    expect(store.claim("a")).toBe("new");
  });

  it("stores an id for seven days by default", () => {
    const clock = createTestClock();
    const store = memoryDedupe({ testing: { clock } });
    complete(store, "a");
    clock.nowMs = 7 * 24 * 3_600_000 - 1;
    expect(store.claim("a")).toBe("done");
    clock.nowMs += 1;
    expect(store.claim("a")).toBe("new");
  });

  it("stores at most maxEntries completed ids, removes the oldest first, and none that is in progress", () => {
    const store = memoryDedupe({ maxEntries: 2 });
    store.claim("slow");
    for (const id of ["a", "b", "c"]) complete(store, id);
    expect(["b", "c", "slow", "a"].map(store.claim)).toEqual([
      "done",
      "done",
      "in-progress",
      "new",
    ]);
  });

  it("ends a claim that is neither completed nor released after five minutes", () => {
    const clock = createTestClock();
    const store = memoryDedupe({ testing: { clock } });
    store.claim("a");
    clock.nowMs = 299_999;
    expect(store.claim("a")).toBe("in-progress");
    clock.nowMs = 300_000;
    expect(store.claim("a")).toBe("new");
  });

  it.each([0, -1, Number.NaN])("throws for the limit %s", (value) => {
    expect(() => memoryDedupe({ maxEntries: value })).toThrow(/maxEntries/);
    expect(() => memoryDedupe({ ttlSeconds: value })).toThrow(/ttlSeconds/);
  });
});
