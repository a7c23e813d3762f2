/** Idempotency keys: stable, without personal data, and different for different inputs. */
import { createHash } from "node:crypto";
import {
  card,
  catchIssuingError,
  json,
  networkError,
  openWebsite,
  type Script,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  deriveIdempotencyKey,
  type IssueCardOptions,
  type IssuingClientOptions,
  type UserId,
} from "../src/index.ts";

const templateId = "tpl_club";
const derive = (userId: UserId, others: { keySuffix?: string; namespace?: string } = {}) =>
  deriveIdempotencyKey({ templateId, userId, ...others });

describe("deriveIdempotencyKey", () => {
  // G30
  it.each([
    [42, {}, "3:lc18:tpl_club2:420:", "lc1_IUxYW3K87Mw-NH8NdoXaWs7wEe3f1-qUc0Dqt3XYXB4"],
    [
      42,
      { namespace: "" },
      "3:lc18:tpl_club2:420:",
      "lc1_IUxYW3K87Mw-NH8NdoXaWs7wEe3f1-qUc0Dqt3XYXB4",
    ],
    [0, {}, "3:lc18:tpl_club1:00:", "lc1_g8k0F6RkP0uScQDKYhof4i6dGMg2BIMUz7b_CeT8vcw"],
    [
      42,
      { keySuffix: "second" },
      "3:lc18:tpl_club2:426:second",
      "lc1_kzLxDF_ZVh7YVaKaWMrx73i1DrRz55iGnFrkyIsV1w8",
    ],
    [
      "żółw-🐢",
      {},
      "3:lc18:tpl_club7:żółw-🐢0:",
      "lc1_a8C2BvCJ4N1D_OC3r951uXScq4HadvhKYXZy3zbJTfU",
    ],
    [42, { namespace: "staging" }, "3:lc18:tpl_club2:420:7:staging", undefined],
  ])(
    "hashes the parts of %j, %j with their lengths in UTF-16 units, in every version the same way",
    async (userId, others, text, key) => {
      const hash = `lc1_${createHash("sha256").update(text).digest("base64url")}`;
      expect([await derive(userId, others), key ?? hash]).toEqual([hash, hash]);
    },
  );

  it("derives the same key for a number, its text and a bigint", async () => {
    for (const same of [
      ["42", 42, 42n],
      [2n ** 80n, String(2n ** 80n)],
      ["0", 0, -0],
    ])
      expect(new Set(await Promise.all(same.map((userId) => derive(userId)))).size).toBe(1);
  });

  it("derives different keys for ids that look alike", async () => {
    expect(await derive("Zo\u00eb")).not.toBe(await derive("Zoe\u0308"));
    expect(await derive("Kate")).not.toBe(await derive("\u212Aate"));
  });

  it("derives different keys for parts that join to the same text", async () => {
    const isNamespace = (text: string) => text === text.trim() && !/^["']/.test(text);
    const part = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== "");
    await fc.assert(
      fc.asyncProperty(part, part, part, async (a, b, c) => {
        const all: Parameters<typeof deriveIdempotencyKey>[0][] = [
          { templateId: a + b, userId: c },
          { templateId: a, userId: b + c },
          { templateId: a, userId: b, keySuffix: c },
          { templateId: a, userId: b, namespace: c },
          { templateId: a, userId: b, keySuffix: c, namespace: a },
          { templateId: a, userId: b, keySuffix: c + a, namespace: b },
          { templateId: a, userId: b, keySuffix: c, namespace: a + b },
        ];
        const valid = all.filter(({ namespace = "a" }) => isNamespace(namespace));
        const keys = await Promise.all(valid.map(deriveIdempotencyKey));
        expect(new Set(keys).size).toBe(valid.length);
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

  it.each([
    ...["", " ", "a\ud800", Number.NaN, 1.5, 2 ** 53, null, undefined, {}].map((userId) => [
      "userId",
      { userId },
    ]),
    ...["", 7, "\udc00"].map((id) => ["templateId", { templateId: id }]),
    ...["", " ", 7, "\ud800", null, undefined].map((keySuffix) => ["keySuffix", { keySuffix }]),
    ...[" ", 7, "\ud800", null, undefined, "a\n", " a", '"a"', "'a'"].map((namespace) => [
      "namespace",
      { namespace },
    ]),
  ] as [string, object][])("rejects an invalid %s: %o", async (name, changes) => {
    await expect(deriveIdempotencyKey({ templateId, userId: 1, ...changes })).rejects.toMatchObject(
      {
        code: "configuration",
        message: expect.stringContaining(name),
      },
    );
  });

  it.each([templateId, null, undefined])("rejects %o in place of an object", async (input) => {
    const derivation = deriveIdempotencyKey(input as never);
    const message = expect.stringContaining("{ templateId, userId, keySuffix, namespace }");
    await expect(derivation).rejects.toMatchObject({ code: "configuration", message });
  });

  it("rejects a misspelt member, without which it would be the key of another card", async () => {
    const derivation = deriveIdempotencyKey({ templateId, userId: 1, keysuffix: "2" } as never);
    const message = expect.stringContaining('no member "keysuffix". Did you mean keySuffix?');
    await expect(derivation).rejects.toMatchObject({ code: "configuration", message });
  });
});

describe("the namespace and the keySuffix of a call", () => {
  async function readKey(
    options: IssueCardOptions,
    clientOptions: Partial<IssuingClientOptions> = {},
  ) {
    const { client, requests } = scripted([json(card, 201)], clientOptions);
    await client.issueCard(templateId, signUp, options);
    return requests[0]?.headers.get("idempotency-key");
  }

  it("derives the key from both", async () => {
    for (const suffix of [{}, { keySuffix: "2" }]) {
      expect(await readKey({ userId: 1, ...suffix })).toBe(await derive(1, suffix));
      for (const namespace of ["", "staging"])
        expect(await readKey({ userId: 1, ...suffix }, { idempotencyNamespace: namespace })).toBe(
          await derive(1, { ...suffix, namespace }),
        );
    }
  });

  it("has the namespace of the environment variable unless the option is set; deriveIdempotencyKey has not", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const none = await derive(1);
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", "staging");
    expect(await readKey({ userId: 1 })).toBe(await derive(1, { namespace: "staging" }));
    expect(await readKey({ userId: 1 }, { idempotencyNamespace: "production" })).toBe(
      await derive(1, { namespace: "production" }),
    );
    expect(await readKey({ userId: 1 }, { idempotencyNamespace: "" })).toBe(none);
    expect(await derive(1)).toBe(none);
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", "");
    expect(await readKey({ userId: 1 })).toBe(none);
    vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", " ");
    expect(() => scripted([])).toThrow(/LOYALTY_IDEMPOTENCY_NAMESPACE\) is present but/);
    for (const unclean of ["staging\r", '"staging"']) {
      vi.stubEnv("LOYALTY_IDEMPOTENCY_NAMESPACE", unclean);
      expect(() => scripted([])).toThrow(
        "(LOYALTY_IDEMPOTENCY_NAMESPACE) begins with a quote, or has white space around it",
      );
    }
  });

  it.each(["a", "!~", "a".repeat(255)])(
    "sends the caller's own key unchanged: %s",
    async (idempotencyKey) => {
      expect(await readKey({ idempotencyKey }, { idempotencyNamespace: "staging" })).toBe(
        idempotencyKey,
      );
    },
  );

  // G9
  it("issues separate cards to two people with the same user id in two namespaces", async () => {
    const { client, connect } = openWebsite({ idempotencyNamespace: "production" });
    const staging = connect({ idempotencyNamespace: "staging" });
    const issue = (to: typeof client, name: string, phone: string) => {
      const customer = { ...signUp.customer, phone, name };
      return to.issueCard(template.id, { fieldValues: { name }, customer }, { userId: 1 });
    };
    const anna = await issue(client, "Anna", "+48600100200");
    const jan = await issue(staging, "Jan", "+48600100201");
    expect(jan.id).not.toBe(anna.id);
    expect(jan.fieldValues.name).toBe("Jan");
    expect((await issue(client, "Anna", "+48600100200")).id).toBe(anna.id);
  });

  it.each([undefined, null, " ", 7])("rejects an idempotencyNamespace of %j", (namespace) => {
    const options = { idempotencyNamespace: namespace as string };
    expect(() => scripted([], options)).toThrow(/idempotencyNamespace/);
  });
});

const day = 24 * 3_600_000;
const attemptedAt = (...times: unknown[]) =>
  times.map((firstAttemptAt) => ({ userId: 1, firstAttemptAt }));
const refusedOptions: [string, unknown[]][] = [
  [
    "issueCard needs userId or idempotencyKey: pass { userId: user.id }",
    [
      undefined,
      null,
      "42",
      {},
      { deadlineMs: 5_000 },
      { firstAttemptAt: new Date() },
      { keySuffix: "2" },
    ],
  ],
  [
    "userId is undefined: await the saving of the user, and pass its id\\.",
    [{ userId: undefined }],
  ],
  ["userId is null: await the saving of the user, and pass its id\\.", [{ userId: null }]],
  [
    'userId is the text "\\S.*", which all users would share: pass the id of the user\\.',
    [undefined, {}, Promise.resolve(1)].map((id) => ({ userId: `${id}` })),
  ],
  [
    "userId must be .*, not this string\\. Await the saving of the user",
    [{ userId: "" }, { userId: " " }],
  ],
  ["userId must be .*, not this number\\.", [{ userId: Number.NaN }, { userId: 2 ** 53 }]],
  ["userId must be .*, not this object\\.", [{ userId: Promise.resolve(1) }]],
  [
    "Set userId or idempotencyKey, not both",
    [{ userId: 1 }, { keySuffix: "2" }].map((each) => ({ ...each, idempotencyKey: "order-1" })),
  ],
  [
    "idempotencyKey is present but undefined",
    [{ idempotencyKey: undefined }, { userId: 1, idempotencyKey: undefined }],
  ],
  [
    "idempotencyKey must be 1 to 255 visible ASCII characters, without spaces\\.",
    ["", " ", "a b", " a", "a ", "a\n", "\na", "ż", "a\u0000", "a".repeat(256), 7, null, ["a"]].map(
      (idempotencyKey) => ({ idempotencyKey }),
    ),
  ],
  ['keySuffix is the text "undefined"\\.', [{ userId: 1, keySuffix: `${undefined}` }]],
  ["keySuffix", [undefined, null, "", " ", 7].map((keySuffix) => ({ userId: 1, keySuffix }))],
  ["firstAttemptAt is present but undefined", [{ userId: 1, firstAttemptAt: undefined }]],
  [
    "firstAttemptAt",
    attemptedAt(null, Number.NaN, new Date(Number.NaN), "yesterday", Date.UTC(2027, 0)),
  ],
  // A time in seconds is before 2001 when it is read as milliseconds.
  [
    "firstAttemptAt .* milliseconds",
    attemptedAt(1_790_000_000, new Date(1_790_000_000), 0, Date.UTC(2001, 0, 1) - 1),
  ],
];

it.each(
  refusedOptions.flatMap(([message, options]) => options.map((each) => [each, message] as const)),
)(
  "sends nothing with the options %o, because each call could issue another card: %s",
  async (options, message) => {
    const { client, requests } = scripted([json(card, 201)]);
    await expect(
      client.issueCard(templateId, signUp, options as IssueCardOptions),
    ).rejects.toMatchObject({
      code: "configuration",
      outcome: "not-sent",
      message: expect.stringMatching(message),
    });
    expect(requests).toEqual([]);
  },
);

describe("firstAttemptAt", () => {
  const minute = 60_000;
  async function issueAfter(ms: number) {
    const { client, clock, requests } = scripted([json(card, 201)]);
    const firstAttemptAt = new Date(clock.now() - ms);
    const call = client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt });
    return { result: await call.catch((error) => error), requests };
  }

  it.each([day - minute - 1000, 1, 0, -minute])(
    "sends the request when the first attempt was %i ms ago: clocks may differ by a minute",
    async (ms) => {
      expect((await issueAfter(ms)).result.id).toBe("card_1");
    },
  );

  it.each([day - minute, day, 10 * day, Date.UTC(2026, 2, 1, 12) - Date.UTC(2001, 0, 1)])(
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

  it.each<[string, Script, string]>([
    ["a refused connection", networkError("ECONNREFUSED"), "network unknown"],
    ["a 401", json({}, 401), "unauthorized unknown"],
    ["a 404", json({}, 404), "not-found unknown"],
    ["a 429", json({}, 429), "rate-limited unknown"],
    ["a 422", json({}, 422), "validation rejected"],
  ])("means that the key was sent before: %s", async (_name, script, expected) => {
    for (const ageMs of [1, 0, -5_000]) {
      const { client, clock } = scripted([script], { maxRetries: 0 });
      const options = { userId: 1, firstAttemptAt: clock.now() - ageMs };
      const error = await catchIssuingError(client.issueCard(templateId, signUp, options));
      expect(`${error.code} ${error.outcome}`).toBe(expected);
    }
  });

  it("in the past gives the outcome unknown also to a call without an API key", async () => {
    const { client, clock } = scripted([], { apiKey: () => "" });
    const options = { userId: 1, firstAttemptAt: clock.now() - 1 };
    const error = await catchIssuingError(client.issueCard(templateId, signUp, options));
    expect(error).toMatchObject({ code: "configuration", outcome: "unknown", attempts: 0 });
  });

  it("accepts a time in milliseconds, and no time in the future", async () => {
    const { client, clock } = scripted([]);
    const issue = (firstAttemptAt: number) =>
      client.issueCard(templateId, signUp, { userId: 1, firstAttemptAt });
    await expect(issue(clock.now() - 2 * day)).rejects.toMatchObject({
      code: "idempotency-expired",
    });
    await expect(issue(clock.now() + minute + 1)).rejects.toMatchObject({ code: "configuration" });
  });

  // G26
  it.each([
    [3, day - minute - 2000],
    [(day - minute) / 1000, undefined],
  ])(
    "sends no retry in the last minute of the retention: %i s later, first attempt %s ms ago",
    async (seconds, ms) => {
      const unavailable = json({}, 503, { "retry-after": String(seconds) });
      const { client, clock, requests } = scripted([unavailable, json(card, 201)], {
        deadlineMs: 2 * day,
      });
      const first = ms === undefined ? {} : { firstAttemptAt: clock.now() - ms };
      const call = client.issueCard(templateId, signUp, { userId: 1, ...first });
      await expect(call).rejects.toMatchObject({ code: "server", outcome: "unknown" });
      expect(requests).toHaveLength(1);
    },
  );
});
