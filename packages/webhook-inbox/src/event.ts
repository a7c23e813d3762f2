/** An event as an inbox stores it: the data of a job, with the body as text and the time of receipt; its key; how long it is remembered. */
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Restores a stored body, byte for byte. */
export const toBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The members of an event that `markProcessed` and `isNewest` read. */
export type OrderedEvent = Pick<WebhookEvent, "id" | "createdAt">;

/** @throws {TypeError} for a `createdAt` that is not a date. */
export function parseCreatedAt({ id, createdAt }: OrderedEvent): number {
  const createdAtMs = Date.parse(createdAt);
  if (Number.isNaN(createdAtMs))
    throw withSafeMessage(
      new TypeError(`The createdAt of event ${id} is not a date, so the event cannot be ordered.`),
    );
  return createdAtMs;
}

/** @returns the error, or one that says what to do when it is that a table is missing. */
export function explainMissingTable(error: unknown, isMissing: boolean): unknown {
  if (!isMissing) return error;
  const message = "The tables of webhook-inbox do not exist here: call ensureInboxTables first.";
  return withSafeMessage(new Error(message, { cause: error }));
}

/** The data of an event's job. */
interface JobData {
  /** The verified body, character for character. */
  body: string;
  /** ISO 8601. */
  receivedAt: string;
  /** The source of the inbox, unless that is `""`. */
  source?: string;
}

/** @throws {TypeError} for a body that is not UTF-8, which a receiver rejects before. */
export function toJobData(body: Uint8Array, receivedAt: Date, source: string): JobData {
  const data = { body: utf8.decode(body), receivedAt: receivedAt.toISOString() };
  return source === "" ? data : { ...data, source };
}

/** The event of a job, with its body and the time of its receipt. @throws {TypeError} for a job that no inbox added. */
export function parseJobData(data: unknown) {
  const { body, receivedAt, source = "" } = (data ?? {}) as Partial<JobData>;
  if (typeof body !== "string" || typeof receivedAt !== "string")
    throw withSafeMessage(new TypeError("This job was not added by an inbox: use a queue for events only."));
  const event: WebhookEvent = JSON.parse(body.replace(/^\uFEFF/, ""));
  return { event, body, receivedAt: new Date(receivedAt), source };
}

/** The same of text that the inbox stored. */
export const parseStoredEvent = (text: string | undefined) => parseJobData(JSON.parse(text ?? "null"));

/** Identifies an event among those of all sources. An event of the source `""` has its own id. */
export const toEventKey = ({ id }: Pick<WebhookEvent, "id">, source: string): string =>
  source === "" ? id : `${source}\u001f${id}`;

/** Returns a job id without a separator of any queue. It is never a number, which BullMQ rejects. */
export function toJobId(key: string): string {
  const wellFormed = new TextDecoder().decode(new TextEncoder().encode(key)); // a lone surrogate cannot be encoded
  return `event-${encodeURIComponent(wellFormed)}`;
}

/**
 * After this time the service has ended its retries: 8 h 36 min of pauses and a minute of responses
 * ([spec 3.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-2), [8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
const retryHorizonSeconds = 8 * 3600 + 37 * 60;

/** @throws {TypeError} for a retention under which a late duplicate would be processed as a new event. */
export function validateRetention(seconds: unknown = 14 * 24 * 3600): number {
  if (typeof seconds === "number" && seconds >= retryHorizonSeconds) return seconds;
  throw new TypeError(
    `retentionSeconds is ${String(seconds)}; it must be at least ${retryHorizonSeconds} seconds (8 h 37 min), because the ` +
      "service delivers an event again for that long, and a forgotten event would be processed twice.",
  );
}
