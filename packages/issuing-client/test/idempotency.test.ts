/** Idempotency keys: stable, without personal data, and different for different inputs. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createIssuingClient,
  deriveIdempotencyKey,
  type IssueCardOptions,
  type IssuingClientOptions,
  type UserId,
} from "../src/index.ts";
import { card, json, scripted, signUp, template } from "./scripted.ts";
import { openWebsite } from "./website.ts";

const templateId = "tpl_club";
const derive = (userId: UserId, others: { keySuffix?: string; namespace?: string } = {}) =>
  deriveIdempotencyKey({ templateId, userId, ...others });

describe("deriveIdempotencyKey", () => {
  // G30
  it("derives the documented key, which must never change", async () => {
    const text = "3:lc18:tpl_club2:420:";
    const expected = `lc1_${createHash("sha256").update(text).digest("base64url")}`;
    expect(await derive(42)).toBe(expected);
    expect(expected).toBe("lc1_IUxYW3K87Mw-NH8NdoXaWs7wEe3f1-qUc0Dqt3XYXB4");
  });

  it.each([
    [{ userId: 42, keySuffix: "second" }, "lc1_kzLxDF_ZVh7YVaKaWMrx73i1DrRz55iGnFrkyIsV1w8"],
    [{ userId: "żółw-🐢" }, "lc1_a8C2BvCJ4N1D_OC3r951uXScq4HadvhKYXZy3zbJTfU"],
    [{ userId: 0 }, "lc1_g8k0F6RkP0uScQDKYhof4i6dGMg2BIMUz7b_CeT8vcw"],
  ])(
    "derives the same key as earlier versions, without a namespace and with an empty one: %j",
    async (input, key) => {
      expect(await deriveIdempotencyKey({ templateId, ...input })).toBe(key);
      expect(await deriveIdempotencyKey({ templateId, ...input, namespace: "" })).toBe(key);
    },
  );

  it("appends the namespace after the other parts", async () => {
    const text = "3:lc18:tpl_club2:420:7:staging";
    const expected = `lc1_${createHash("sha256").update(text).digest("base64url")}`;
    expect(await derive(42, { namespace: "staging" })).toBe(expected);
  });

  it("counts lengths in UTF-16 units and hashes UTF-8", async () => {
    const text = "3:lc18:tpl_club7:żółw-🐢0:";
    expect(await derive("żółw-🐢")).toBe(`lc1_${createHash("sha256").update(text).digest("base64url")}`);
  });

  it("derives the same key for a number, its text and a bigint", async () => {
    expect(await derive("42")).toBe(await derive(42));
    expect(await derive(42n)).toBe(await derive(42));
    expect(await derive(2n ** 80n)).toBe(await derive(String(2n ** 80n)));
  });

  it("accepts 0 as a user id", async () => {
    expect(await derive(0)).toBe(await derive("0"));
    expect(await derive(-0)).toBe(await derive(0));
  });

  it("derives different keys for ids that look alike", async () => {
    expect(await derive("Zo\u00eb")).not.toBe(await derive("Zoe\u0308"));
    expect(await derive("Kate")).not.toBe(await derive("\u212Aate"));
  });

  it("depends on template, user and keySuffix", async () => {
    const keys = [
      await derive(1),
      await derive(2),
      await derive(1, { keySuffix: "second" }),
      await derive(1, { namespace: "second" }),
      await derive(1, { keySuffix: "second", namespace: "second" }),
      await deriveIdempotencyKey({ templateId: "b", userId: 1 }),
    ];
    expect(new Set(keys).size).toBe(6);
  });

  it("derives different keys for parts that join to the same text", async () => {
    const part = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== "");
    await fc.assert(
      fc.asyncProperty(part, part, part, async (a, b, c) => {
        const one = await deriveIdempotencyKey({ templateId: a + b, userId: c });
        const two = await deriveIdempotencyKey({ templateId: a, userId: b + c });
        const three = await deriveIdempotencyKey({ templateId: a, userId: b, keySuffix: c });
        const four = await deriveIdempotencyKey({ templateId: a, userId: b, namespace: c });
        const five = await deriveIdempotencyKey({ templateId: a, userId: b, keySuffix: c, namespace: a });
        const six = await deriveIdempotencyKey({ templateId: a, userId: b, keySuffix: c + a, namespace: b });
        const seven = await deriveIdempotencyKey({
          templateId: a,
          userId: b,
          keySuffix: c,
          namespace: a + b,
        });
        expect(new Set([one, two, three, four, five, six, seven]).size).toBe(7);
      }),
    );
  });

  it("contains no part of the user id, and is a valid header value", async () => {
    await fc.assert(
      fc.asyncProperty(fc.emailAddress(), async (email) => {
        const key = await derive(email);
        expect(key).toMatch(/^lc1_[\w-]{43}$/);
        expect(key).not.toContain(email.split("@")[1]);
      }),
    );
  });

  it.each(["", " ", "a\ud800", Number.NaN, 1.5, 2 ** 53, null, undefined, {}])(
    "rejects the user id %s",
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
    ["keySuffix", { templateId, userId: 1, keySuffix: 7 }],
    ["keySuffix", { templateId, userId: 1, keySuffix: "\ud800" }],
    ["keySuffix", { templateId, userId: 1, keySuffix: " " }],
    ["keySuffix", { templateId, userId: 1, keySuffix: "" }],
    ["keySuffix", { templateId, userId: 1, keySuffix: null }],
    ["keySuffix", { templateId, userId: 1, keySuffix: undefined }],
    ["namespace", { templateId, userId: 1, namespace: 7 }],
    ["namespace", { templateId, userId: 1, namespace: "\ud800" }],
    ["namespace", { templateId, userId: 1, namespace: " " }],
    ["namespace", { templateId, userId: 1, namespace: null }],
    ["namespace", { templateId, userId: 1, namespace: undefined }],
  ])("rejects an invalid %s: %j", async (name, input) => {
    await expect(deriveIdempotencyKey(input as never)).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining(name),
    });
  });
});

describe("the namespace and the keySuffix of a call", () => {
  async function readKey(options: IssueCardOptions, clientOptions: Partial<IssuingClientOptions> = {}) {
    const { client, requests } = scripted([json(card, 201)], clientOptions);
    await client.issueCard(templateId, signUp, options);
    return requests[0]?.headers.get("idempotency-key");
  }

  it("derives the key from both", async () => {
    const idempotencyNamespace = "staging";
    expect(await readKey({ userId: 1 })).toBe(await derive(1));
    expect(await readKey({ userId: 1 }, { idempotencyNamespace: "" })).toBe(await derive(1));
    expect(await readKey({ userId: 1, keySuffix: "2" })).toBe(await derive(1, { keySuffix: "2" }));
    expect(await readKey({ userId: 1 }, { idempotencyNamespace })).toBe(
      await derive(1, { namespace: idempotencyNamespace }),
    );
    expect(await readKey({ userId: 1, keySuffix: "2" }, { idempotencyNamespace })).toBe(
      await derive(1, { keySuffix: "2", namespace: idempotencyNamespace }),
    );
  });

  it("has the namespace of the environment variable unless the option is set", async () => {
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", "staging");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await readKey({ userId: 1 })).toBe(await derive(1, { namespace: "staging" }));
    expect(await readKey({ userId: 1 }, { idempotencyNamespace: "production" })).toBe(
      await derive(1, { namespace: "production" }),
    );
    expect(await readKey({ userId: 1 }, { idempotencyNamespace: "" })).toBe(await derive(1));
  });

  it("counts an empty environment variable as none, and rejects a blank one by its name", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", "");
    expect(await readKey({ userId: 1 })).toBe(await derive(1));
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", " ");
    expect(() => scripted([])).toThrow(/LOYALTY_IDEMPOTENCY_NAMESPACE is present but/);
  });

  it("is not part of a key that deriveIdempotencyKey derives without a namespace", async () => {
    const key = await derive(1);
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", "staging");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await derive(1)).toBe(key);
  });

  it("does not change the caller's own key", async () => {
    expect(await readKey({ idempotencyKey: "order-1" }, { idempotencyNamespace: "staging" })).toBe("order-1");
  });

  // G9
  it("issues separate cards to two people with the same user id in two namespaces", async () => {
    const { service, client } = openWebsite({ idempotencyNamespace: "production" });
    const { baseUrl } = service;
    const staging = createIssuingClient({
      baseUrl,
      apiKey: service.apiKeys.website,
      idempotencyNamespace: "staging",
    });
    const { consents } = signUp.customer;
    const issue = (to: typeof client, name: string, phone: string) =>
      to.issueCard(
        template.id,
        { fieldValues: { name }, customer: { phone, name, consents } },
        { userId: 1 },
      );
    const anna = await issue(client, "Anna", "+48600100200");
    const jan = await issue(staging, "Jan", "+48600100201");
    expect(jan.id).not.toBe(anna.id);
    expect(jan.fieldValues.name).toBe("Jan");
    expect((await issue(client, "Anna", "+48600100200")).id).toBe(anna.id);
  });

  it.each([undefined, null, "", " ", 7])("rejects a keySuffix of %j", async (keySuffix) => {
    const { client, requests } = scripted([json(card, 201)]);
    const call = client.issueCard(templateId, signUp, { userId: 1, keySuffix: keySuffix as string });
    await expect(call).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining("keySuffix"),
    });
    expect(requests).toEqual([]);
  });

  it("rejects a keySuffix without a userId, because it has no effect", async () => {
    for (const options of [{ keySuffix: "2" }, { keySuffix: "2", idempotencyKey: "order-1" }]) {
      const { client, requests } = scripted([json(card, 201)]);
      await expect(client.issueCard(templateId, signUp, options as never)).rejects.toMatchObject({
        code: "configuration",
        message: expect.stringContaining("keySuffix needs userId"),
      });
      expect(requests).toEqual([]);
    }
  });

  it.each([undefined, null, " ", 7, "\ud800"])(
    "rejects an idempotencyNamespace of %j",
    (idempotencyNamespace) => {
      expect(() => scripted([], { idempotencyNamespace: idempotencyNamespace as string })).toThrow(
        /idempotencyNamespace/,
      );
    },
  );
});

describe("idempotencyKey", () => {
  it.each(["a", "!~", "a".repeat(255)])("sends the key unchanged: %s", async (idempotencyKey) => {
    const { client, requests } = scripted([json(card, 201)]);
    await client.issueCard(templateId, signUp, { idempotencyKey });
    expect(requests[0]?.headers.get("idempotency-key")).toBe(idempotencyKey);
  });

  it.each(["", " ", "a b", " a", "a ", "a\n", "\na", "ż", "a\u0000", "a".repeat(256), 7, null, ["a"]])(
    "rejects the key %j before a request is sent, without quoting it",
    async (idempotencyKey) => {
      const { client, requests } = scripted([json(card, 201)]);
      const call = client.issueCard(templateId, signUp, { idempotencyKey: idempotencyKey as string });
      await expect(call).rejects.toMatchObject({
        code: "configuration",
        message: expect.stringContaining("must be 1 to 255 visible ASCII characters, without spaces."),
      });
      expect(requests).toEqual([]);
    },
  );
});

describe("issueCard without a userId and an idempotencyKey", () => {
  it.each([undefined, null, {}, { deadlineMs: 5_000 }, { firstAttemptAt: new Date() }])(
    "sends nothing with the options %j, because each call would issue another card",
    async (options) => {
      const { client, requests } = scripted([json(card, 201)]);
      await expect(client.issueCard(templateId, signUp, options as never)).rejects.toMatchObject({
        code: "configuration",
        outcome: "not-sent",
        message: expect.stringContaining(
          "issueCard needs userId or idempotencyKey: pass { userId: user.id }",
        ),
      });
      expect(requests).toEqual([]);
    },
  );
});

describe("an option of issueCard that is present without a value", () => {
  const withoutValue = [
    ["userId", undefined, /userId must be .*, not undefined\. Await the saving of the user/],
    ["userId", null, /userId must be .*, not null\. Await the saving of the user/],
    ["userId", "", /userId must be .*, not a blank string\. Await the saving of the user/],
    ["userId", " ", /userId must be .*, not a blank string\. Await the saving of the user/],
    ["userId", Number.NaN, /userId must be .*, not NaN\. Await the saving of the user/],
    ["userId", Promise.resolve(1), /userId must be .*, not a value of type object\./],
    ["idempotencyKey", undefined, /idempotencyKey is present but undefined/],
    ["firstAttemptAt", undefined, /firstAttemptAt is present but undefined/],
  ] as const;

  it.each(withoutValue)(
    "rejects %s with the value %s, because the call could issue a second card",
    async (...row) => {
      const [name, value, message] = row;
      const { client, requests } = scripted([json(card, 201)]);
      const options = { ...(name === "firstAttemptAt" && { userId: 1 }), [name]: value };
      await expect(client.issueCard(templateId, signUp, options)).rejects.toMatchObject({
        code: "configuration",
        outcome: "not-sent",
        message: expect.stringMatching(message),
      });
      expect(requests).toEqual([]);
    },
  );

  it("rejects an undefined idempotencyKey beside a userId", async () => {
    const { client, requests } = scripted([json(card, 201)]);
    const options = { userId: 1, idempotencyKey: undefined } as never;
    await expect(client.issueCard(templateId, signUp, options)).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining("idempotencyKey"),
    });
    expect(requests).toEqual([]);
  });
});

describe("firstAttemptAt", () => {
  const minute = 60_000;
  const day = 24 * 60 * minute;
  async function issueAfter(ms: number, options: IssueCardOptions = { userId: 1 }) {
    const { client, clock, requests } = scripted([json(card, 201)]);
    const firstAttemptAt = new Date(clock.now() - ms);
    const result = await client
      .issueCard(templateId, signUp, { ...options, firstAttemptAt })
      .catch((error) => error);
    return { result, requests };
  }

  it.each([day - minute - 1000, 1, 0, -minute])(
    "sends the request when the first attempt was %i ms ago: clocks may differ by a minute",
    async (ms) => {
      expect((await issueAfter(ms)).result.id).toBe("card_1");
    },
  );

  it.each([day - minute, day, 10 * day])(
    "rejects a first attempt %i ms ago, because a repeated call could issue a second card",
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

  // G26
  it("sends no retry in the last minute of the retention", async () => {
    const { client, clock, requests } = scripted([json({}, 503, { "retry-after": "3" }), json(card, 201)]);
    const firstAttemptAt = clock.now() - (day - minute - 2000);
    const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt });
    await expect(call).rejects.toMatchObject({ code: "server", outcome: "unknown" });
    expect(requests).toHaveLength(1);
  });

  it("accepts a time in milliseconds", async () => {
    const { client, clock } = scripted([]);
    const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt: clock.now() - 2 * day });
    await expect(call).rejects.toMatchObject({ code: "idempotency-expired" });
  });

  it("rejects a first attempt in the future", async () => {
    const { result, requests } = await issueAfter(-2 * minute);
    expect([result.code, requests.length]).toEqual(["configuration", 0]);
    expect(result.message).toContain("firstAttemptAt");
  });

  it.each([1_790_000_000, new Date(1_790_000_000), 0, Date.UTC(2001, 0, 1) - 1])(
    "rejects %s as a time in seconds, because it is before 2001 in milliseconds",
    async (firstAttemptAt) => {
      const { client, requests } = scripted([json(card, 201)]);
      const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt });
      await expect(call).rejects.toMatchObject({
        code: "configuration",
        message: expect.stringMatching(/firstAttemptAt .* milliseconds/),
      });
      expect(requests).toEqual([]);
    },
  );

  it("accepts a date in 2001", async () => {
    const { client } = scripted([]);
    const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt: Date.UTC(2001, 0, 1) });
    await expect(call).rejects.toMatchObject({ code: "idempotency-expired" });
  });

  it.each([null, Number.NaN, new Date(Number.NaN), "yesterday"])(
    "rejects %s, which is not a time",
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
