/** The derived key: stable, free of personal data, and different whenever any of its inputs is. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deriveIdempotencyKey, type UserId } from "../src/index.ts";
import { card, json, scripted, signUp } from "./scripted.ts";

const templateId = "tpl_club";
const derive = (userId: UserId, salt?: string) => deriveIdempotencyKey({ templateId, userId, salt });

describe("deriveIdempotencyKey", () => {
  it("is the documented derivation, and must never change", async () => {
    const text = "3:lc18:tpl_club2:420:";
    const expected = `lc1_${createHash("sha256").update(text).digest("base64url")}`;
    expect(await derive(42)).toBe(expected);
    expect(expected).toBe("lc1_IUxYW3K87Mw-NH8NdoXaWs7wEe3f1-qUc0Dqt3XYXB4");
  });

  it("counts lengths in UTF-16 units and hashes UTF-8", async () => {
    const text = "3:lc18:tpl_club7:żółw-🐢0:";
    expect(await derive("żółw-🐢")).toBe(`lc1_${createHash("sha256").update(text).digest("base64url")}`);
  });

  it("takes a number, its text and a bigint for the same user", async () => {
    expect(await derive("42")).toBe(await derive(42));
    expect(await derive(42n)).toBe(await derive(42));
    expect(await derive(2n ** 80n)).toBe(await derive(String(2n ** 80n)));
  });

  it("takes 0 for a user", async () => {
    expect(await derive(0)).toBe(await derive("0"));
    expect(await derive(-0)).toBe(await derive(0));
  });

  it("takes ids that only look alike for different users", async () => {
    expect(await derive("Zo\u00eb")).not.toBe(await derive("Zoe\u0308"));
    expect(await derive("Kate")).not.toBe(await derive("\u212Aate"));
  });

  it("depends on template, user and salt", async () => {
    const keys = [
      await derive(1),
      await derive(2),
      await derive(1, "second"),
      await deriveIdempotencyKey({ templateId: "b", userId: 1 }),
    ];
    expect(new Set(keys).size).toBe(4);
  });

  it("keeps apart what would read the same when joined", async () => {
    const part = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== "");
    await fc.assert(
      fc.asyncProperty(part, part, part, async (a, b, c) => {
        const one = await deriveIdempotencyKey({ templateId: a + b, userId: c });
        const two = await deriveIdempotencyKey({ templateId: a, userId: b + c });
        const three = await deriveIdempotencyKey({ templateId: a, userId: b, salt: c });
        expect(new Set([one, two, three]).size).toBe(3);
      }),
    );
  });

  it("shows nothing of the user, and fits a header", async () => {
    await fc.assert(
      fc.asyncProperty(fc.emailAddress(), async (email) => {
        const key = await derive(email);
        expect(key).toMatch(/^lc1_[\w-]{43}$/);
        expect(key).not.toContain(email.split("@")[1]);
      }),
    );
  });

  it.each(["", " ", "a\ud800", Number.NaN, 1.5, 2 ** 53, null, undefined, {}])(
    "refuses the user id %s",
    async (userId) => {
      await expect(derive(userId as UserId)).rejects.toMatchObject({
        code: "configuration",
        message: expect.stringContaining("userId"),
      });
    },
  );

  it.each([
    ["templateId", { templateId: "", userId: 1 }],
    ["templateId", { templateId: 7, userId: 1 }],
    ["templateId", { templateId: "\udc00", userId: 1 }],
    ["salt", { templateId, userId: 1, salt: 7 }],
    ["salt", { templateId, userId: 1, salt: "\ud800" }],
  ])("refuses a %s that is none: %j", async (name, input) => {
    await expect(deriveIdempotencyKey(input as never)).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining(name),
    });
  });
});

describe("a key of the website's own", () => {
  it.each(["a", "!~", "a".repeat(255)])("goes out as it is: %s", async (idempotencyKey) => {
    const { client, requests } = scripted([json(card, 201)]);
    await client.issueCard(templateId, signUp, { idempotencyKey });
    expect(requests[0]?.headers.get("idempotency-key")).toBe(idempotencyKey);
  });

  it.each(["", " ", "a b", " a", "a ", "a\n", "\na", "ż", "a\u0000", "a".repeat(256), 7, null, ["a"]])(
    "is refused, unsent and unquoted: %j",
    async (idempotencyKey) => {
      const { client, requests } = scripted([json(card, 201)]);
      const call = client.issueCard(templateId, signUp, { idempotencyKey: idempotencyKey as string });
      await expect(call).rejects.toMatchObject({
        code: "configuration",
        message: "idempotencyKey must be 1 to 255 visible ASCII characters, without spaces.",
      });
      expect(requests).toEqual([]);
    },
  );
});

describe("firstAttemptAt", () => {
  const minute = 60_000;
  const day = 24 * 60 * minute;
  async function issueAfter(ms: number, options: object = { userId: 1 }) {
    const { client, clock, requests } = scripted([json(card, 201)]);
    const firstAttemptAt = new Date(clock.now() - ms);
    const result = await client
      .issueCard(templateId, signUp, { ...options, firstAttemptAt })
      .catch((error) => error);
    return { result, requests };
  }

  it.each([day - minute - 1000, 1, 0, -minute])(
    "%i ms ago goes out: more than a minute is left, and clocks may differ by one",
    async (ms) => {
      expect((await issueAfter(ms)).result.id).toBe("card_1");
    },
  );

  it.each([day - minute, day, 10 * day])(
    "%i ms ago is refused, because a repeat could issue a second card",
    async (ms) => {
      const { result, requests } = await issueAfter(ms);
      expect(result).toMatchObject({
        code: "idempotency-expired",
        outcome: "unknown",
        retryable: false,
        idempotencyKey: expect.stringMatching(/^lc1_/),
        message: expect.stringContaining("Look for the card first"),
      });
      expect(requests).toEqual([]);
    },
  );

  it("lets no retry go out once the minute before its end has begun", async () => {
    const { client, clock, requests } = scripted([json({}, 503, { "retry-after": "3" }), json(card, 201)]);
    const firstAttemptAt = clock.now() - (day - minute - 2000);
    const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt });
    await expect(call).rejects.toMatchObject({ code: "server", outcome: "unknown" });
    expect(requests).toHaveLength(1);
  });

  it("may be a time in milliseconds", async () => {
    const { client, clock } = scripted([]);
    const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt: clock.now() - 2 * day });
    await expect(call).rejects.toMatchObject({ code: "idempotency-expired" });
  });

  it.each([
    ["in the future", -2 * minute, { userId: 1 }],
    ["without the key of that attempt", 0, {}],
  ])("%s is a mistake", async (_name, ms, options) => {
    const { result, requests } = await issueAfter(ms, options);
    expect([result.code, requests.length]).toEqual(["configuration", 0]);
    expect(result.message).toContain("firstAttemptAt");
  });

  it.each([null, Number.NaN, new Date(Number.NaN), "yesterday"])(
    "%s is a mistake",
    async (firstAttemptAt) => {
      const { client, requests } = scripted([json(card, 201)]);
      const call = client.issueCard(templateId, signUp, {
        userId: 1,
        firstAttemptAt: firstAttemptAt as Date,
      });
      await expect(call).rejects.toMatchObject({
        code: "configuration",
        message: expect.stringContaining("firstAttemptAt"),
      });
      expect(requests).toEqual([]);
    },
  );
});
