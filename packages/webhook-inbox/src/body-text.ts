/** Keeps a verified body as text that a person can read, byte for byte the same when it is taken out again. */
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws {TypeError} for bytes that no receiver lets through. */
export function textOf(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new TypeError("The body is not UTF-8; hand over the bytes that the receiver verified.", { cause });
  }
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const eventOf = (text: string): WebhookEvent => JSON.parse(text.replace(/^\uFEFF/, ""));
