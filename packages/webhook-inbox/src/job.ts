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
