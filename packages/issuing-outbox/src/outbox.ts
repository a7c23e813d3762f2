/**
 * What an outbox does, whatever its database: the public methods and options, and their
 * documentation.
 */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { type IssuingSteps, readIssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { requireFunction, requireNumber } from "@loyalty-cards/internal/limits";
import type { Card, FieldValues, IssuingClient, UserId } from "@loyalty-cards/issuing-client";
import type { OutboxContext } from "./context.ts";
import type {
  OutboxCounts,
  OutboxEntry,
  OutboxEntryError,
  OutboxState,
  OwedCard,
} from "./entry.ts";
import type { ReportOptions } from "./outcomes.ts";

/** Options of both outboxes. */
export interface OutboxOptions<Transaction> extends ReportOptions {
  /**
   * The client of `createIssuingClient`, with any types of `api`. Its `baseUrl` and
   * `idempotencyNamespace` must be the same in every process.
   */
  client: Omit<IssuingClient, "api">;
  /**
   * Called when a card is issued, in the transaction that records it: store `entry.cardId` with
   * your user. Do nothing but statements of this transaction, because the callback is called again
   * when the transaction is repeated, or could not be committed. If it throws, the card is recorded
   * all the same, and the callback is called again, after growing delays. Every process that issues
   * cards needs it: what one without it issues counts as delivered.
   */
  onIssued?: (entry: OutboxEntry & { cardId: string }, transaction: Transaction) => unknown;
  /**
   * Called when the service rejects the form, in the transaction that records it. `entry.error`
   * says what to correct.
   */
  onRejected?: (
    entry: OutboxEntry & { error: OutboxEntryError },
    transaction: Transaction,
  ) => unknown;
  /** How long the forms of rejected and unknown entries are stored, in days. Default 30. */
  retentionDays?: number;
  /** Only tests set this. Default of `clock`: the client's. */
  testing?: { clock?: IssuingSteps<Card>["clock"]; random?: () => number };
}

const callbackNames = ["onIssued", "onRejected", "onOutcome", "log"] as const;
export const outboxOptionNames = {
  client: true,
  onIssued: true,
  onRejected: true,
  onOutcome: true,
  log: true,
  logErrorMessages: true,
  retentionDays: true,
  testing: true,
} satisfies OptionNames<OutboxOptions<never>>;

type Testing = NonNullable<OutboxOptions<never>["testing"]>;
const testingNames = { clock: true, random: true } satisfies OptionNames<Testing>;

/** After a crash an entry waits for the end of its attempt's deadline. */
export const maxDeadlineMs = 3_600_000;

/** The options of both outboxes, parsed. The client has the clock of the options. */
export type OutboxSettings = Readonly<
  Pick<OutboxContext, "client" | "random" | "retentionMs" | "callbacks"> & ReportOptions
>;

/**
 * @param names those of the outbox and of its database.
 * @throws {TypeError} for an option that is unknown or out of range, for callbacks that are no
 * functions, and without a client.
 * @throws {IssuingError} `configuration` when the client has no address: copying the steps reads
 * it.
 */
export function parseOutboxOptions(
  owner: string,
  options: OutboxOptions<never>,
  names: Readonly<Record<string, true>>,
): OutboxSettings {
  if (typeof options !== "object" || options === null)
    throw createTypeError(`${owner} needs options: ${Object.keys(names).join(", ")}.`);
  const { testing = {}, retentionDays = 30, onIssued, onRejected } = options;
  requireKnownNames(owner, options, names);
  requireKnownNames(`testing of ${owner}`, testing, testingNames);
  requireCallbacks(options);
  const client = readIssuingSteps<Card>(options.client);
  requireNumber("retentionDays", retentionDays, 1, 3_650);
  requireNumber("deadlineMs of the client", client.deadlineMs, 1, maxDeadlineMs);
  const { onOutcome, log = console.error, logErrorMessages = false } = options;
  const callbacks: OutboxSettings["callbacks"] = {
    issued: onIssued && { name: "onIssued", call: onIssued },
    rejected: onRejected && { name: "onRejected", call: onRejected },
  };
  return Object.freeze({
    client: { ...client, clock: testing.clock ?? client.clock },
    random: testing.random ?? Math.random,
    retentionMs: Math.round(retentionDays * 86_400_000),
    callbacks,
    ...(onOutcome && { onOutcome }),
    log,
    logErrorMessages,
  });
}

function requireCallbacks(options: OutboxOptions<never>): void {
  for (const name of callbackNames) {
    const value: unknown = options[name];
    // `onIssued: undefined` comes from a wrong import or a misspelt property: the cards would not
    // reach the users.
    const canBeUndefined = name !== "onIssued" || !("onIssued" in options);
    if (value !== undefined || !canBeUndefined) requireFunction(name, value);
  }
}

/** The template, for users who have entries of several. */
export interface TemplateOption {
  template?: string | { readonly id: string };
}

/** What a person found out about an entry that is `unknown`. */
export type Resolution = { cardId: string; noCard?: never } | { noCard: true; cardId?: never };

/** How long `issue` waits. */
export interface IssueOptions extends TemplateOption {
  /**
   * How long the visitor waits, in milliseconds, at most an hour. Default: the client's
   * `deadlineMs`.
   */
  deadlineMs?: number;
  /** Ends the wait: the promise rejects with `signal.reason`. The card is issued all the same. */
  signal?: AbortSignal;
}

/** How fast a worker sends, and how often it looks for entries. */
export interface WorkOptions {
  /** The maximum number of concurrent requests. Default 8 for `work`, 32 for `drain`. */
  concurrency?: number;
  /** The maximum number of requests that begin in a second. Default: no limit. */
  maxPerSecond?: number;
  /** How often to look for entries that are due, in milliseconds. Default 1 000. */
  pollMs?: number;
}

/** When `drain` ends, and what it reports. */
export interface DrainOptions extends Omit<WorkOptions, "pollMs"> {
  /** Begins no request after this time, in milliseconds. */
  maxMs?: number;
  /** The maximum number of requests that it begins. */
  maxEntries?: number;
  /**
   * Called at most ten times in a second, and at the end. The counts include what this call has
   * done.
   */
  onProgress?: (counts: OutboxCounts) => void;
  /** Begins no request after it is aborted. */
  signal?: AbortSignal;
}

/** Which entries `list` returns. */
export interface ListOptions {
  state?: OutboxState;
  /** Default: all. */
  limit?: number;
  /** Begins after this entry, the last one of an earlier list. */
  after?: Pick<OutboxEntry, "userId" | "template">;
}

/** A running worker. */
export interface OutboxWorker extends AsyncDisposable {
  /**
   * Begins no more requests, and waits for the running ones, at most `graceMs` (default 10 000).
   * Then these are aborted, and retried later.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** The methods that are the same for SQLite and PostgreSQL. */
export interface Outbox extends AsyncDisposable {
  /**
   * Adds a list of any length, in transactions of 200 entries. They are sent after the entries of
   * `add`.
   * @returns how many were added, and how many users had an entry already.
   * @throws {TypeError} {IssuingError} for the first invalid entry. Entries before it may have been
   * added: call it again with the whole list.
   */
  addAll<Fields = FieldValues>(
    entries: Iterable<OwedCard<Fields>> | AsyncIterable<OwedCard<Fields>>,
  ): Promise<{ added: number; known: number }>;
  /**
   * Issues the card of an entry now, for a handler that wants to show it. It tries again within the
   * deadline. While the template is paused it sends nothing, and the entry is `waiting`: a worker
   * issues the card later.
   * @returns the entry, with the card when this process issued it during the call.
   * @throws {TypeError} when no committed entry exists: call it after the transaction of `add`.
   */
  issue(userId: UserId, options?: IssueOptions): Promise<OutboxEntry & { card?: Card }>;
  /**
   * Starts a worker, which issues cards until it is stopped, and keeps the process running. A
   * server calls `close` at its end; a script calls `drain` instead.
   */
  work(options?: WorkOptions): OutboxWorker;
  /**
   * Issues cards until nothing is due: for cron jobs, serverless functions and long lists. It waits
   * for entries that are due within ten seconds, and for those that another process has; a longer
   * pause ends it, and `paused` says why. Without `maxMs`, it goes on while the database refuses
   * writes.
   */
  drain(options?: DrainOptions): Promise<OutboxCounts>;
  /**
   * Decides an entry that is `unknown`: with the id of the card that exists, or with
   * `noCard: true`, which sends the form again.
   */
  resolve(userId: UserId, resolution: Resolution, options?: TemplateOption): Promise<OutboxEntry>;
  /**
   * Makes an entry due now. A rejected form is sent again: within ten minutes of a request without
   * a response, when they are over.
   * @throws {TypeError} for an entry that is `unknown`.
   */
  retry(userId: UserId, options?: TemplateOption): Promise<OutboxEntry>;
  /**
   * Erases a user at once. A card that still arrives is reported as `forgotten-card`.
   * @returns false when there is no entry.
   */
  forget(userId: UserId, options?: TemplateOption): Promise<boolean>;
  get(userId: UserId, options?: TemplateOption): Promise<OutboxEntry | undefined>;
  /** Entries in the order in which they were added. */
  list(options?: ListOptions): AsyncIterable<OutboxEntry>;
  count(): Promise<OutboxCounts>;
  /**
   * Stops the workers, and closes what the outbox opened. Calls of `issue` return at once. Requests
   * that run longer than `graceMs` (default 10 000) are aborted, and retried later.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}
