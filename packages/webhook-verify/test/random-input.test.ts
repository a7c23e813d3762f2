/**
 * Random headers and bodies: only our errors are thrown, no changed delivery is accepted, and both
 * HMAC engines agree.
 */
// G5, G11

import { anyCharacter } from "@loyalty-cards/testing/any-character";
import { balanceChanged, secret } from "@loyalty-cards/testing/signed-delivery";
import fc from "fast-check";
import { expect, it } from "vitest";
import { signWebhookSync } from "../src/index.ts";
import { checkWithWebCrypto, getVerdict } from "./test-receiver.ts";

/** RANDOM_INPUTS=1000000 makes it longer. */
const runs = Number(process.env["RANDOM_INPUTS"] ?? 30_000);
const timeLimitMs = 60_000 + runs;

const nowSeconds = 1_767_225_600;
const now = () => nowSeconds * 1000;
const genuineBody = Buffer.from(JSON.stringify(balanceChanged()));
const genuineHeader = signWebhookSync({ rawBody: genuineBody, secret, timestamp: nowSeconds });
const genuineHex = genuineHeader.split("v1=")[1] as string;

const verdict = (rawBody: Uint8Array, signature: string) =>
  getVerdict({ rawBody, signature, secret, now });

const hexDigits = (length: fc.StringConstraints) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEF"), ...length });
const value = fc.oneof(
  fc.constantFrom(String(nowSeconds), genuineHex, "", "NaN"),
  fc.nat().map(String),
  hexDigits({ minLength: 64, maxLength: 64 }),
  hexDigits({ maxLength: 70 }),
  fc.string({ unit: anyCharacter, maxLength: 70 }),
);
const pair = fc
  .tuple(fc.constantFrom("t=", "v1=", "v0=", "=", "", "t", " t=", "T="), value)
  .map((parts) => parts.join(""));
const header = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc
    .tuple(fc.array(pair, { maxLength: 8 }), fc.constantFrom(",", ", ", ",,", ";", "\t"))
    .map(([pairs, separator]) => pairs.join(separator)),
  // Almost valid, so that the body is checked.
  hexDigits({ minLength: 64, maxLength: 64 }).map((hex) => `t=${nowSeconds},v1=${hex}`),
);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.json({ maxDepth: 2 }).map((text) => new TextEncoder().encode(text)),
);

it(
  "rejects random input with WebhookVerificationError",
  () => {
    const made = fc.property(
      header,
      body,
      (signature, rawBody) => verdict(rawBody, signature) !== "valid",
    );
    fc.assert(made, { numRuns: Math.ceil(runs * 0.6) });
  },
  timeLimitMs,
);

it(
  "rejects every change of a valid delivery",
  () => {
    const { length } = genuineBody;
    const change = fc.oneof(
      fc.tuple(fc.nat(length - 1), fc.integer({ min: 1, max: 255 })).map(([at, by]) => ({
        rawBody: genuineBody.map((byte, i) => (i === at ? byte ^ by : byte)),
        signature: genuineHeader,
      })),
      fc.tuple(fc.nat(length), fc.uint8Array({ minLength: 1, maxLength: 5 })).map(([at, more]) => ({
        rawBody: Buffer.concat([genuineBody.subarray(0, at), more, genuineBody.subarray(at)]),
        signature: genuineHeader,
      })),
      fc
        .nat(length - 1)
        .map((at) => ({ rawBody: genuineBody.subarray(0, at), signature: genuineHeader })),
      fc.tuple(fc.nat(63), fc.integer({ min: 1, max: 15 })).map(([at, by]) => {
        const digit = (Number.parseInt(genuineHex[at] as string, 16) ^ by).toString(16);
        const hex = genuineHex.slice(0, at) + digit + genuineHex.slice(at + 1);
        return { rawBody: genuineBody, signature: genuineHeader.replace(genuineHex, hex) };
      }),
      fc
        .integer({ min: -400, max: 400 })
        .filter((seconds) => seconds !== 0)
        .map((seconds) => ({
          rawBody: genuineBody,
          signature: `t=${nowSeconds + seconds},v1=${genuineHex}`,
        })),
      fc
        .tuple(
          fc.nat(genuineHeader.length - 1),
          fc.string({ unit: anyCharacter, minLength: 1, maxLength: 3 }),
        )
        // After a comma, a space and a pair of another name are allowed.
        .filter(([at, more]) => genuineHeader[at - 1] !== "," && !more.includes(","))
        .map(([at, more]) => ({
          rawBody: genuineBody,
          signature: genuineHeader.slice(0, at) + more + genuineHeader.slice(at),
        })),
    );
    expect(verdict(genuineBody, genuineHeader)).toBe("valid");
    const changed = fc.property(
      change,
      ({ rawBody, signature }) => verdict(rawBody, signature) !== "valid",
    );
    fc.assert(changed, { numRuns: Math.ceil(runs * 0.3) });
  },
  timeLimitMs,
);

it(
  "returns an event or invalid-payload for a signed body, the same with both engines",
  async () => {
    const signed = body.map((rawBody) => ({
      rawBody,
      signature: signWebhookSync({ rawBody, secret, timestamp: nowSeconds }),
    }));
    const anything = fc.oneof(signed, fc.record({ rawBody: body, signature: header }));
    const agreed = fc.asyncProperty(anything, async ({ rawBody, signature }) => {
      const result = await checkWithWebCrypto({ rawBody, signature, secret, now });
      return verdict(rawBody, signature) === (result.failure?.reason ?? "valid");
    });
    await fc.assert(agreed, { numRuns: Math.ceil(runs * 0.1) });
  },
  timeLimitMs,
);
