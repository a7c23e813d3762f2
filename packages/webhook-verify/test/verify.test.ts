/**
 * verifyWebhook and signWebhook, compared with signatures by openssl, and which HMAC is used in
 * which runtime.
 */
import { createHmac } from "node:crypto";
import { createContext, runInContext } from "node:vm";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createReceiver,
  isKnownEvent,
  isWebhookVerificationError,
  type Secret,
  signWebhook,
  signWebhookSync,
  type VerifyInput,
  verifyWebhook,
  verifyWebhookSync,
  WebhookVerificationError,
} from "../src/index.ts";
import { toSigningKeys } from "../src/secrets.ts";
import { type SigningKey, signWithWebCrypto } from "../src/signature.ts";
import { checkWithWebCrypto, getVerdict, signatureVectors, type Vector } from "./test-receiver.ts";

/** The package loaded a second time, as with two installed versions. */
function anotherCopy(): Promise<typeof import("../src/index.ts")> {
  vi.resetModules();
  return import("../src/index.ts");
}

const toInput = ({
  rawBody,
  signature,
  secrets,
  toleranceSeconds,
  nowMs,
}: Vector): VerifyInput => ({
  rawBody,
  signature,
  secret: secrets,
  toleranceSeconds,
  now: () => nowMs,
});

const { body, headers } = signedDelivery(balanceChanged());
const signature = headers["service-signature"] as string;
const genuine = { rawBody: body, signature, secret };

/** The body as bytes, and as text where it is UTF-8: the verdict must not depend on the form. */
function toForms({ rawBody }: Vector): VerifyInput["rawBody"][] {
  const text = new TextDecoder(undefined, { ignoreBOM: true }).decode(rawBody);
  return Buffer.from(text).equals(rawBody) ? [rawBody, text] : [rawBody];
}

describe("the signature vectors", () => {
  it("are at least 80", () => expect(signatureVectors.length).toBeGreaterThanOrEqual(80));

  // G5
  it.each(signatureVectors)("include $name, which is $verdict", async (vector) => {
    for (const rawBody of toForms(vector)) {
      const input = { ...toInput(vector), rawBody };
      expect(getVerdict(input)).toBe(vector.verdict);
      expect(
        await verifyWebhook(input).then(
          () => "valid",
          (error) => error.reason,
        ),
      ).toBe(vector.verdict);
      const result = await checkWithWebCrypto(input);
      expect(result.failure?.reason ?? "valid").toBe(vector.verdict);
    }
  });
});

describe("signWebhook", () => {
  it("creates the same signature as openssl", async () => {
    const [vector] = signatureVectors.filter(
      (candidate) => candidate.name === "a balance-changed event",
    );
    const [key] = vector?.secrets ?? [];
    if (vector === undefined || key === undefined) throw new Error("the vector is missing");
    const input = { rawBody: vector.rawBody, secret: key, timestamp: vector.nowMs / 1000 };
    expect(signWebhookSync(input)).toBe(vector.signature);
    expect(await signWebhook(input)).toBe(vector.signature);
    const [secretKey] = toSigningKeys(key) as [SigningKey];
    const hex = await signWithWebCrypto(secretKey, String(input.timestamp), vector.rawBody);
    expect(`t=${input.timestamp},v1=${hex}`).toBe(vector.signature);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e12])(
    "throws for the timestamp %s",
    (timestamp) => {
      const sign = () => signWebhookSync({ rawBody: "{}", secret, timestamp });
      expect(sign).toThrow(
        new TypeError(`timestamp must be unix time in whole seconds; it is ${timestamp}.`),
      );
      expect(signWebhookSync({ rawBody: "{}", secret, timestamp: 0 })).toMatch(/^t=0,v1=/);
    },
  );

  it("creates a signature that verifies with the current time", async () => {
    const signature = await signWebhook({ rawBody: JSON.stringify(balanceChanged()), secret });
    const event = await verifyWebhook({
      rawBody: JSON.stringify(balanceChanged()),
      signature,
      secret,
    });
    expect(event).toEqual(balanceChanged());
  });
});

describe("rawBody", () => {
  const bytes = Buffer.from(body);

  it("can be a string, bytes, a view of a larger buffer or an ArrayBuffer", () => {
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 7);
    const view = larger.subarray(7, 7 + bytes.length);
    const arrayBuffer = bytes.buffer.slice(
      bytes.byteOffset,
      bytes.byteOffset + bytes.length,
    ) as ArrayBuffer;
    const foreign = runInContext(`Uint8Array.from(${JSON.stringify([...bytes])})`, createContext());
    expect(foreign instanceof Uint8Array).toBe(false); // of another realm
    for (const rawBody of [body, bytes, view, arrayBuffer, foreign]) {
      expect(verifyWebhookSync({ rawBody, signature, secret }).id).toBe("evt_1");
    }
  });

  it.each([
    ["characters of one to four bytes", "aé€😀", "aé€😀"],
    ["half of a surrogate pair, which UTF-8 cannot express", "a\ud83d.\ude00", "a\ufffd.\ufffd"],
    ["an escaped half of a surrogate pair", "\\ud83d", "\ud83d"],
  ])("as text means its UTF-8, with %s", async (_name, text, parsed) => {
    const rawBody = `{"id":"evt_1","type":"ping","createdAt":"x","data":"${text}"}`;
    const signature = signWebhookSync({ rawBody: Buffer.from(rawBody), secret });
    const expected = { id: "evt_1", type: "ping", createdAt: "x", data: parsed };
    expect(signWebhookSync({ rawBody, secret })).toBe(signature);
    for (const form of [rawBody, Buffer.from(rawBody)]) {
      const input = { rawBody: form, signature, secret };
      expect(verifyWebhookSync(input)).toEqual(expected);
      expect(await checkWithWebCrypto(input)).toMatchObject({ value: { event: expected } });
    }
  });

  it("can begin with one byte order mark, as text and as bytes", () => {
    const verdict = (rawBody: VerifyInput["rawBody"]) =>
      getVerdict({ rawBody, signature: signWebhookSync({ rawBody, secret }), secret });
    for (const [marks, expected] of [
      ["\ufeff", "valid"],
      ["\ufeff\ufeff", "invalid-payload"],
    ]) {
      expect([verdict(marks + body), verdict(Buffer.from(marks + body))]).toEqual([
        expected,
        expected,
      ]);
    }
    const rawBody = "{}";
    const input = { rawBody, signature: signWebhookSync({ rawBody, secret }), secret };
    expect(() => verifyWebhookSync(input)).toThrow(
      /: invalid-payload; the signature is valid, but the body is not an event: a JSON object with/,
    );
  });

  it("throws a TypeError for a parsed body", () => {
    const rawBody = JSON.parse(body);
    expect(() => verifyWebhookSync({ rawBody, signature, secret })).toThrow(TypeError);
    expect(() => verifyWebhookSync({ rawBody, signature, secret })).toThrow(
      /not a parsed body; it is object/,
    );
    const notAwaited = Promise.resolve(body) as never;
    expect(() => verifyWebhookSync({ rawBody: notAwaited, signature, secret })).toThrow(
      "it is promise (await it)",
    );
  });
});

const malformed = [
  [signature, signature],
  7,
  true,
  [7],
  // Characters that HTTP does not allow.
  ` ${signature}`,
  `${signature} `,
  `${signature}\r\n`,
  signature.replace("t=", "t=\u0661"),
  signature.replace("v1=", "v1=\u0130"),
  signature.replace(",", ",\u00a0"),
  signature.replace(",", ",\n"),
  `${signature},xxxxx\ud800`,
];

it.each<[unknown, string]>([
  [[signature], "valid"],
  ...malformed.map((value): [unknown, string] => [value, "malformed-signature"]),
  ...[null, undefined, [], [null]].map((value): [unknown, string] => [value, "missing-signature"]),
])("the signature header %j is %s", (value, verdict) =>
  expect(getVerdict({ ...genuine, signature: value as VerifyInput["signature"] })).toBe(verdict),
);

it.each([
  [{ "service-signature": signature }, "it is object. Of headers, pass headers["],
  [{}, "signature must be the text of the Service-Signature header; it is object."],
  [Buffer.from(signature), "signature must be the text of the Service-Signature header"],
  [Promise.resolve(signature), "it is promise (await it)."],
])("throws a TypeError for %j as the signature", (value, message) => {
  const input = { ...genuine, signature: value as never };
  expect(() => verifyWebhookSync(input)).toThrow(TypeError);
  expect(() => verifyWebhookSync(input)).toThrow(message);
});

// G20
describe("verifyWebhook throws before it reads the delivery for an option that would disable the check:", () => {
  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "300", null, 86_400.5])(
    "toleranceSeconds %s",
    async (value) => {
      const toleranceSeconds = value as number;
      expect(() => verifyWebhookSync({ ...genuine, toleranceSeconds })).toThrow(
        /toleranceSeconds must be a finite number/,
      );
      await expect(verifyWebhook({ ...genuine, toleranceSeconds })).rejects.toThrow(TypeError);
    },
  );

  it.each([
    ["", /^secret is an empty string: is LOYALTY_SIGNING_SECRET set\? .* --env-file=\.env\.$/],
    ["  ", /white space only: set LOYALTY_SIGNING_SECRET/],
    [`${secret}\n`, /^secret is a string that ends with white space: trim it\.$/],
    [`"${secret}"`, /^secret is a string that begins with a quote, .*: remove it\.$/],
    [` ${secret}`, /^secret is a string that begins with white space: trim it\.$/],
    [new Uint8Array(), /^secret is an empty array of bytes/],
    [new TextEncoder().encode(" \t\r\n"), /white space only/],
    [[], /^secret is an empty list: pass at least one secret\.$/],
    [[secret, ""], /empty/],
    [undefined, /^secret is undefined: is LOYALTY_SIGNING_SECRET set\? .* --env-file=\.env\.$/],
    [null, /secret is null/],
    ["undefined", /^secret is the text "undefined": is LOYALTY_SIGNING_SECRET set\?/],
    [`${Promise.resolve(secret)}`, /^secret is the text "\[object Promise\]"/],
    [{ key: "" }, /empty/],
    [
      [{ key: secret }, { key: undefined, id: "old" }],
      /^secret is an object without a key: pass \{ key, id\?, notAfter\? \}\. Is the variable of key set\?$/,
    ],
    [
      { key: secret, not_after: new Date(0) },
      /: A secret has no member "not_after"\. Did you mean notAfter\? Its members are key, id, notAfter\.$/,
    ],
    [{ key: secret, notAfter: new Date(Number.NaN) }, /notAfter/],
    [{ key: secret, notAfter: "2026-01-01T00:00:00.000Z" }, /notAfter .* pass a Date/],
    [{ key: secret, notAfter: null }, /notAfter .* pass a Date/],
    [7, /^secret is a value of type number: it must be a string or bytes\.$/],
    [Promise.resolve(secret), /^secret is a value of type promise \(await it\): it must be/],
  ])("secret %j", async (value, message) => {
    expect(() => verifyWebhookSync({ ...genuine, secret: value as Secret })).toThrow(message);
    await expect(verifyWebhook({ ...genuine, secret: value as Secret })).rejects.toThrow(TypeError);
  });
});

it.each([
  [
    "verifyWebhook",
    { call: verifyWebhook, callSync: verifyWebhookSync },
    "rawBody, signature, secret, toleranceSeconds, now",
  ],
  ["signWebhook", { call: signWebhook, callSync: signWebhookSync }, "rawBody, secret, timestamp"],
])(
  "%s throws a TypeError for several arguments, and for a misspelt option",
  async (name, { call, callSync }, names) => {
    const takes = `takes an object: { ${names} }.`;
    expect(() => callSync(body as never)).toThrow(new TypeError(`${name}Sync ${takes}`));
    await expect(call(body as never)).rejects.toThrow(new TypeError(`${name} ${takes}`));
    const misspelt = { rawBody: body, secrets: secret } as never;
    const unknown = `has no option "secrets". Did you mean secret? Its options are ${names}.`;
    expect(() => callSync(misspelt)).toThrow(`${name}Sync ${unknown}`);
    await expect(call(misspelt)).rejects.toThrow(`${name} ${unknown}`);
  },
);

describe("a `now` option", () => {
  it.each<[unknown, string]>([
    ["2026-01-01T00:00:00.000Z", "a value of type string"],
    [undefined, "a value of type undefined"],
    [null, "null"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [8.64e15 + 1, "8640000000000001"], // past the last Date
    [1e9, "1000000000"], // seconds
    [9_999_999_999, "9999999999"],
    [new Date(), "a value of type object"],
    [1n, "a value of type bigint"],
    [Promise.resolve(Date.now()), "a value of type object"],
  ])(
    "causes a TypeError in every function that takes it when it returns %s",
    async (value, returned) => {
      const now = () => value as number;
      const message = `now must return milliseconds as a number, as Date.now does; it returned ${returned}. For`;
      expect(() => verifyWebhookSync({ ...genuine, now })).toThrow(TypeError);
      expect(() => verifyWebhookSync({ ...genuine, now })).toThrow(message);
      await expect(verifyWebhook({ ...genuine, now })).rejects.toThrow(message);
      expect(() => createReceiver({ secret, now })).toThrow(message);
    },
  );

  it.each([0, -1, 0.5, 999_999_999, 1e10, 8.64e15, -8.64e15])(
    "can return %d milliseconds",
    (nowMs) => {
      const verdict = getVerdict({ ...genuine, now: () => nowMs });
      expect(verdict).toBe(nowMs > 1e13 ? "stale" : "future");
    },
  );

  it("throws a TypeError when it is not a function", async () => {
    const now = Date.now() as never;
    expect(() => verifyWebhookSync({ ...genuine, now })).toThrow(
      "now must be a function that returns milliseconds",
    );
    await expect(verifyWebhook({ ...genuine, now })).rejects.toThrow(TypeError);
    expect(() => createReceiver({ secret, now })).toThrow(TypeError);
  });
});

it("accepts a secret up to the moment of its notAfter, and not a millisecond longer", async () => {
  const notAfter = new Date();
  const secrets = [{ key: "whsec_new" }, { key: secret, id: "old", notAfter }];
  const at = (nowMs: number) => ({ ...genuine, secret: secrets, now: () => nowMs });
  const [last, after] = [at(notAfter.getTime()), at(notAfter.getTime() + 1)];
  expect([getVerdict(last), getVerdict(after)]).toEqual(["valid", "mismatch"]);
  expect((await verifyWebhook(last)).id).toBe("evt_1");
  await expect(verifyWebhook(after)).rejects.toMatchObject({
    reason: "mismatch",
    message: expect.stringMatching(
      /^The delivery was rejected: mismatch; the signature does not match .* See https:\S+#webhook-mismatch$/,
    ),
  });
  expect(await checkWithWebCrypto(last)).toMatchObject({ value: { event: { id: "evt_1" } } });
  expect(await checkWithWebCrypto(after)).toMatchObject({ failure: { reason: "mismatch" } });
});

it("keeps no copy of the text of a secret in the memory that Node shares among buffers", () => {
  const text = "whsec_in_no_shared_memory";
  const before = Buffer.from("x").buffer;
  toSigningKeys(text);
  // Node may have begun another block of memory meanwhile.
  for (const shared of [before, Buffer.from("x").buffer])
    expect(Buffer.from(shared).includes(text)).toBe(false);
});

it("accepts a secret with a quote inside, and a tolerance of a day", () => {
  const key = 'whsec_"7"';
  const rawBody = JSON.stringify(balanceChanged());
  const dayAgo = Math.floor(Date.now() / 1000) - 86_399;
  const signature = signWebhookSync({ rawBody, secret: key, timestamp: dayAgo });
  const input = { rawBody, signature, secret: key, toleranceSeconds: 86_400 };
  expect(verifyWebhookSync(input).id).toBe("evt_1");
});

it("does not change the key of a secret when the bytes of the secret change", () => {
  const bytes = Buffer.from(secret);
  const [key] = toSigningKeys(bytes);
  bytes.fill(7);
  expect(Buffer.from(key?.bytes as Uint8Array).toString()).toBe(secret);
});

it("returns an event whose data differs from the contract, which another copy of the package recognizes", async () => {
  const copy = await anotherCopy();
  expect(copy.isKnownEvent).not.toBe(isKnownEvent);
  for (const [event, isKnown] of [
    [balanceChanged(), true],
    [{ ...balanceChanged(), data: null }, false],
    [{ ...balanceChanged(), type: "card.renamed" }, false],
  ] as const) {
    const rawBody = JSON.stringify(event);
    const verified = verifyWebhookSync({
      rawBody,
      signature: signWebhookSync({ rawBody, secret }),
      secret,
    });
    expect([verified, isKnownEvent(verified), copy.isKnownEvent(verified)]).toEqual([
      event,
      isKnown,
      isKnown,
    ]);
  }
});

describe("isWebhookVerificationError", () => {
  const refused = (verify: typeof verifyWebhookSync) => {
    try {
      return verify({ rawBody: "{}", signature: undefined, secret });
    } catch (error) {
      return error;
    }
  };

  it("recognizes the error of another copy of the package, which instanceof does not", async () => {
    const copy = await anotherCopy();
    const foreign = refused(copy.verifyWebhookSync);
    expect([
      foreign instanceof WebhookVerificationError,
      isWebhookVerificationError(foreign),
    ]).toEqual([false, true]);
    expect(copy.isWebhookVerificationError(refused(verifyWebhookSync))).toBe(true);
  });

  it.each([
    new TypeError("x"),
    { name: "WebhookVerificationError", reason: "stale" },
    null,
    undefined,
    "stale",
  ])("is false for %s", (value) => expect(isWebhookVerificationError(value)).toBe(false));
});

it("parses a __proto__ key without changing a prototype", () => {
  const raw =
    '{"id":"evt_1","type":"ping","createdAt":"x","__proto__":{"polluted":true},"data":{}}';
  const { headers } = signedDelivery(raw);
  const event = verifyWebhookSync({
    rawBody: raw,
    signature: headers["service-signature"],
    secret,
  });
  expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

it("uses WebCrypto where getBuiltinModule throws, as in Next's edge runtime", async () => {
  const { getBuiltinModule } = process;
  onTestFinished(() => {
    process.getBuiltinModule = getBuiltinModule;
    vi.resetModules();
  });
  vi.resetModules(); // the engine is chosen when the module is loaded
  process.getBuiltinModule = () => {
    throw new Error("A Node.js API is used which is not supported in the Edge Runtime.");
  };
  const { signWebhook, signWebhookSync, verifyWebhook, verifyWebhookSync } = await import(
    "../src/index.ts"
  );

  const timestamp = Number(signature.slice(2, 12));
  expect(await signWebhook({ rawBody: body, secret, timestamp })).toBe(signature);
  expect(() => signWebhookSync({ rawBody: body, secret })).toThrow(
    /no node:crypto\. Use signWebhook/,
  );
  expect(await verifyWebhook(genuine)).toEqual(balanceChanged());
  expect(() => verifyWebhookSync(genuine)).toThrow(/no node:crypto\. Use verifyWebhook/);
});

it("works where TextEncoder and TextDecoder do not exist, as in Jest with jsdom", async () => {
  const { TextEncoder, TextDecoder } = globalThis;
  onTestFinished(() => {
    Object.assign(globalThis, { TextEncoder, TextDecoder });
    vi.resetModules();
  });
  vi.resetModules();
  Reflect.deleteProperty(globalThis, "TextEncoder");
  Reflect.deleteProperty(globalThis, "TextDecoder");
  const { createReceiver, signWebhookSync, verifyWebhook } = await import("../src/index.ts");
  const { nodeReceiver } = await import("../src/adapters/node.ts");

  expect(nodeReceiver({ secret, handler: () => {} })).toBeTypeOf("function");
  const event = { ...balanceChanged(), createdAt: "za\ufeffżółć" };
  const text = JSON.stringify(event);
  for (const rawBody of [text, `\ufeff${text}`].map((each) => Buffer.from(each))) {
    const signature = signWebhookSync({ rawBody, secret });
    expect(await verifyWebhook({ rawBody, signature, secret })).toEqual(event);
  }
  const deliver = async (body: Uint8Array) => {
    const headers = { "service-signature": signWebhookSync({ rawBody: body, secret }) };
    return (
      await createReceiver({ secret, log: () => {} })({ method: "POST", headers, rawBody: body })
    ).status;
  };
  const notUtf8 = Buffer.from(text.replace("card_1", "####"));
  notUtf8[notUtf8.indexOf("####")] = 0xff;
  expect([await deliver(Buffer.from(text)), await deliver(notUtf8)]).toEqual([204, 400]);
});

it.each([1, 64, 65])("signs as createHmac does, with a key of %i bytes", (keyBytes) => {
  const key = new Uint8Array(keyBytes).fill(200);
  for (const body of ["", "a", "ż€", Buffer.alloc(100_000, 250)]) {
    const expected = createHmac("sha256", key).update("1767225600.").update(body).digest("hex");
    const signature = signWebhookSync({ rawBody: body, secret: key, timestamp: 1_767_225_600 });
    expect(signature).toBe(`t=1767225600,v1=${expected}`);
  }
});

it("gives each key its own signature when keys are used in turn", () => {
  const rawBody = JSON.stringify(balanceChanged());
  for (const key of ["first", "second", "first"]) {
    const signature = signWebhookSync({ rawBody, secret: key });
    const secrets = ["first", "second"];
    expect(
      secrets.filter((secret) => getVerdict({ rawBody, signature, secret }) === "valid"),
    ).toEqual([key]);
  }
});
