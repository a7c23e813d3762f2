/** An event as a job of somebody else's queue: its id there, and its data. */
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { textOf } from "./body-text.ts";

export interface JobData {
  /** The verified body, character for character. */
  body: string;
  /** ISO 8601. */
  receivedAt: string;
}

export function jobData(body: Uint8Array, receivedAt: Date): JobData {
  return { body: textOf(body), receivedAt: receivedAt.toISOString() };
}

/** @throws {TypeError} for a job that no inbox put there. */
export function checkedJobData(data: unknown): JobData {
  const { body, receivedAt } = (data ?? {}) as Partial<JobData>;
  if (typeof body === "string" && typeof receivedAt === "string") return { body, receivedAt };
  throw new TypeError("This job was not put by an inbox: give events a queue of their own.");
}

/** An id in which no separator of any queue can occur, and which is never a number. */
export function readableJobId({ id }: Pick<WebhookEvent, "id">): string {
  const wellFormed = new TextDecoder().decode(new TextEncoder().encode(id)); // half a surrogate pair cannot be encoded
  return `event-${encodeURIComponent(wellFormed)}`;
}

/** Where the names of our identifiers live, as RFC 9562 wants it; any UUID would do, but it may never change. */
const namespace = "6f1c1c2e-5d0b-4a57-9c39-1d5f6a0e8b42";

/** The version 5 UUID of an event id: the same for every copy. */
export async function uuidOf({ id }: Pick<WebhookEvent, "id">): Promise<string> {
  const name = new TextEncoder().encode(id);
  const bytes = Uint8Array.from([...hexBytes(namespace.replaceAll("-", "")), ...name]);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-1", bytes)).subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const hexBytes = (hex: string) => (hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16));
