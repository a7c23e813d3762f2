/** A delivery with the expected verdict, signed by openssl, so that an error that our signing and verifying code share is found. */
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
  /** Base64, like the secrets. */
  body: string;
  secrets: string[];
  /** A list for several header lines; absent for no header. */
  header?: string | string[];
  nowSeconds: number;
  toleranceSeconds?: number;
  verdict: Verdict;
}

/** Differences from the default: a valid balance.changed event, signed at the current time. `header: null` means no header. */
export interface VectorOptions {
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

/** An example of the contract, as the service would serialize it. */
export function example(name: string): string {
  return JSON.stringify(
    JSON.parse(
      readFileSync(new URL(`../../../openapi/generated/examples/${name}.json`, import.meta.url), "utf8"),
    ),
  );
}

/** A ping with additional properties. */
export const event = (properties = "") =>
  `{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"${properties}}`;

/** The hex HMAC of exactly these bytes, by openssl. */
export function hmac(text: Buffer, key: Buffer = secret, digest = "sha256"): string {
  const args = ["dgst", `-${digest}`, "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`, "-hex"];
  return readHex(execFileSync("openssl", args, { input: text, encoding: "utf8" }));
}

/** A digest without a key. */
export const createDigest = (text: Buffer) =>
  readHex(execFileSync("openssl", ["dgst", "-sha256", "-hex"], { input: text, encoding: "utf8" }));

const readHex = (output: string) => output.trim().split(/[ =]+/).at(-1) ?? "";

/** The hex HMAC-SHA256 of `<timestamp>.<body>` ([spec 5.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-6)). */
export function signed(bytes: Buffer = body, timestamp: number | string = t, key: Buffer = secret): string {
  return hmac(Buffer.concat([Buffer.from(`${timestamp}.`), bytes]), key);
}

/** The signature of the default body. */
export const genuine = signed();

export function vector(name: string, verdict: Verdict, options: VectorOptions = {}): Vector {
  const bytes = Buffer.from(options.body ?? body);
  const header = options.header === undefined ? `t=${t},v1=${signed(bytes)}` : options.header;
  return {
    name,
    body: bytes.toString("base64"),
    secrets: (options.secrets ?? [secret]).map((key) => key.toString("base64")),
    ...(header === null ? {} : { header }),
    nowSeconds: options.now ?? t,
    ...(options.tolerance === undefined ? {} : { toleranceSeconds: options.tolerance }),
    verdict,
  };
}
