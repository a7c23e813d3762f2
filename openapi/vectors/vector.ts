/** One delivery with the verdict a verifier must reach, signed by openssl so that signer and verifier cannot be wrong together. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export type Verdict =
  | "valid"
  | "missing-signature"
  | "malformed-signature"
  | "stale"
  | "future"
  | "mismatch"
  | "invalid-payload";

export interface Vector {
  name: string;
  /** Base64, as the secrets are. */
  body: string;
  secrets: string[];
  /** A list when the header came in several lines; absent when it did not come. */
  header?: string | string[];
  nowSeconds: number;
  toleranceSeconds?: number;
  verdict: Verdict;
}

/** What differs from the plain case: a genuine balance.changed, signed right now. `header: null` is none at all. */
export interface Given {
  body?: Buffer | string;
  header?: string | string[] | null;
  secrets?: Buffer[];
  now?: number;
  tolerance?: number;
}

/** 2026-01-01T00:00:00Z */
export const t = 1767225600;
export const secret = Buffer.from("whsec_mock_4fZr0nXqT1");
export const body = Buffer.from(example("balance-changed-event"));

/** One of the contract's examples, as the service would write it. */
export function example(name: string): string {
  return JSON.stringify(
    JSON.parse(readFileSync(new URL(`../examples/${name}.json`, import.meta.url), "utf8")),
  );
}

/** A ping with more members. */
export const event = (members = "") =>
  `{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"${members}}`;

/** The hex HMAC of exactly these bytes, by openssl. */
export function hmac(text: Buffer, key: Buffer = secret, digest = "sha256"): string {
  const args = ["dgst", `-${digest}`, "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`, "-hex"];
  return hexOf(execFileSync("openssl", args, { input: text, encoding: "utf8" }));
}

/** A digest without a key. */
export const digestOf = (text: Buffer) =>
  hexOf(execFileSync("openssl", ["dgst", "-sha256", "-hex"], { input: text, encoding: "utf8" }));

const hexOf = (output: string) => output.trim().split(/[ =]+/).at(-1) ?? "";

/** The hex HMAC-SHA256 of `<timestamp>.<body>` (spec 5.6). */
export function signed(bytes: Buffer = body, timestamp: number | string = t, key: Buffer = secret): string {
  return hmac(Buffer.concat([Buffer.from(`${timestamp}.`), bytes]), key);
}

/** The signature of the plain case. */
export const genuine = signed();

export function vector(name: string, verdict: Verdict, given: Given = {}): Vector {
  const bytes = Buffer.from(given.body ?? body);
  const header = given.header === undefined ? `t=${t},v1=${signed(bytes)}` : given.header;
  return {
    name,
    body: bytes.toString("base64"),
    secrets: (given.secrets ?? [secret]).map((key) => key.toString("base64")),
    ...(header === null ? {} : { header }),
    nowSeconds: given.now ?? t,
    ...(given.tolerance === undefined ? {} : { toleranceSeconds: given.tolerance }),
    verdict,
  };
}
