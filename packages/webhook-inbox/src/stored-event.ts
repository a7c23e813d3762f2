/**
 * An event as an inbox stores it: the body as it arrived, and the time of receipt; its key; how
 * long it is remembered.
 */
import { describeHidden } from "@loyalty-cards/internal/builtin-module";
import { createTypeError } from "@loyalty-cards/internal/errors";
import { textsOfMissingValues } from "@loyalty-cards/internal/format";
import { requireInteger } from "@loyalty-cards/internal/limits";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";

function decode(body: Uint8Array): string {
  if (typeof TextDecoder === "undefined")
    throw createTypeError(describeHidden("An inbox", "TextDecoder"));
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
}

/** Restores a stored body, byte for byte. */
export const toBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** An event that an inbox stored. */
interface StoredEvent {
  event: WebhookEvent;
  /** The verified body, character for character. */
  body: string;
  receivedAt: Date;
}

const parseBody = (body: string): WebhookEvent => JSON.parse(body.replace(/^\uFEFF/, ""));

/**
 * An event as a file stores it: when it was received, a line break, and the body as it arrived.
 * @throws {TypeError} for a body that is not UTF-8, which a receiver rejects before.
 */
export const formatStoredEvent = (body: Uint8Array, receivedAt: Date): string =>
  `${receivedAt.toISOString()}\n${decode(body)}`;

/** @returns undefined for text that no inbox stored, or that is damaged. */
export function parseStoredEvent(text = ""): StoredEvent | undefined {
  const firstLineEnd = text.indexOf("\n");
  const body = text.slice(firstLineEnd + 1);
  const receivedAt = new Date(text.slice(0, firstLineEnd));
  try {
    const event = parseBody(body);
    const isEvent = typeof event.id === "string" && typeof event.type === "string";
    return isEvent && Number.isFinite(receivedAt.getTime())
      ? { event, body, receivedAt }
      : undefined;
  } catch {
    return undefined;
  }
}

/** An event as the data of a job in a queue, which stores it as JSON. */
interface JobData {
  body: string;
  /** ISO 8601. */
  receivedAt: string;
  /** The source of the inbox, unless that is `""`. */
  source?: string;
  /** The retry limit of the job: pg-boss reports it to a handler with `includeMetadata` only. */
  retryLimit?: number;
}

/** @throws {TypeError} for a body that is not UTF-8, which a receiver rejects before. */
export function toJobData(body: Uint8Array, receivedAt: Date, source: string): JobData {
  const data = { body: decode(body), receivedAt: receivedAt.toISOString() };
  return source === "" ? data : { ...data, source };
}

/** @throws {TypeError} for a job that no inbox added. */
export function parseJobData(data: unknown): StoredEvent & { source: string } {
  const { body, receivedAt, source = "" } = (data ?? {}) as Partial<JobData>;
  if (typeof body !== "string" || typeof receivedAt !== "string")
    throw createTypeError("This job was not added by an inbox: use a queue for events only.");
  return { event: parseBody(body), body, receivedAt: new Date(receivedAt), source };
}

export const getStoredLimit = (data: unknown): number | undefined =>
  ((data ?? {}) as Partial<JobData>).retryLimit;

/** @throws {TypeError} for anything but text, and for a text that several services would share. */
export function requireSource(source: unknown): void {
  const isText = typeof source === "string" && !textsOfMissingValues.includes(source);
  if (source === undefined || isText) return;
  const given = typeof source === "string" ? `the text "${source}"` : `of type ${typeof source}`;
  throw createTypeError(
    `source names the sender of the events with a string, such as "coffee"; it is ${given}.`,
  );
}

/** Identifies an event among those of all sources. An event of the source `""` has its own id. */
export const toEventKey = ({ id }: Pick<WebhookEvent, "id">, source: string): string =>
  source === "" ? id : `${source}\u001f${id}`;

/**
 * Returns a job id without a separator of any queue. It is never a number, which BullMQ rejects.
 */
export function toJobId(key: string): string {
  // Half of a surrogate pair cannot be encoded.
  return `event-${encodeURIComponent(key.toWellFormed())}`;
}

/**
 * After this time the service has ended its retries: 8 h 36 min of pauses and a minute of responses
 * ([spec 3.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-2),
 * [8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
const retryHorizonSeconds = 8 * 3600 + 37 * 60;

/** The largest number in a column of pg-boss. */
export const maxColumn = 2 ** 31 - 1;

/**
 * @throws {TypeError} for a retention under which a late duplicate would be processed as a new
 * event, and for one that a queue cannot store.
 */
export function parseRetentionSeconds(seconds: unknown = 14 * 24 * 3600): number {
  if (typeof seconds !== "number" || !(seconds >= retryHorizonSeconds))
    throw createTypeError(
      `retentionSeconds is ${String(seconds)}; it must be at least ${retryHorizonSeconds} seconds (8 h 37 min), because the ` +
        "service delivers an event again for that long, and a forgotten event would be processed twice.",
    );
  requireInteger("retentionSeconds", seconds, retryHorizonSeconds, maxColumn);
  return seconds;
}
