/** The option `deliver`: functions that violate its type, and clocks that fail, do not crash the process. */
import { describe, expect, it } from "vitest";
import { noon, openShop } from "./shop.ts";

describe("a deliver function that violates its type", () => {
  const unreadable = Object.create(Error.prototype, {
    message: {
      get() {
        throw new Error("no");
      },
    },
  });
  it.each<[string, () => unknown, unknown]>([
    [
      "throws synchronously",
      () => {
        throw new Error("boom");
      },
      "boom",
    ],
    [
      "throws a value that is not an Error",
      () => {
        throw null;
      },
      "the receiver threw null",
    ],
    [
      "throws an error that cannot be read",
      () => {
        throw unreadable;
      },
      expect.stringContaining("cannot be read"),
    ],
    [
      "rejects with a cause that is not text",
      () => Promise.reject(new Error("x", { cause: { code: Object.create(null) } })),
      expect.stringContaining("cannot be read"),
    ],
    ["returns nothing", () => undefined, "the receiver returned undefined, not a Response"],
    ["returns null later", async () => null, "the receiver returned null, not a Response"],
    ["returns a text", () => "204", "the receiver returned string, not a Response"],
    [
      "returns a status that is not a number",
      () => ({ status: "204" }),
      "the receiver returned object, not a Response",
    ],
    [
      "returns NaN as its status",
      () => ({ status: Number.NaN }),
      "the receiver returned object, not a Response",
    ],
  ])("%s: a failed attempt, and the next one comes", async (_what, misbehave, error) => {
    let isWell = false;
    const deliver = () => (isWell ? new Response(null, { status: 204 }) : misbehave());
    const { service } = openShop({ deliver: deliver as () => Response });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    service.webhooks.sendTest(id);
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "pending", attempts: [{ error }] }]);
    isWell = true;
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
  });

  it("is evaluated by its status, with any body", async () => {
    const bodies = [
      "text",
      {
        cancel: () => {
          throw new Error("no");
        },
      },
      { cancel: 1 },
      7,
    ];
    for (const body of bodies) {
      const { service } = openShop({ deliver: () => ({ status: 204, body }) as never });
      const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
      service.webhooks.sendTest(id);
      await service.idle();
      expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
    }
  });
});

it("rejects idle() without a crash when the clock returns NaN", async () => {
  let nowMs = noon;
  const { service } = openShop({
    clock: { now: () => nowMs },
    deliver: () => new Response(null, { status: 500 }),
  });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  nowMs = Number.NaN;
  await expect(service.idle()).rejects.toThrow(RangeError);
  await service.idle();
});
