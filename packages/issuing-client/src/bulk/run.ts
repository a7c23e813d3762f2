/** One bulk run: reads rows ahead, sends them at the rate that the service allows, records what happens, and yields the results. */
import { notify } from "@loyalty-cards/internal/reporting";
import type { Card } from "../cards.ts";
import type { IssuingClient } from "../client.ts";
import type { Clock } from "../clock.ts";
import { IssuingError, isIssuingError } from "../errors.ts";
import { getRemainingRetentionMs } from "../idempotency.ts";
import type { Template } from "../template.ts";
import { type CheckpointRecord, type CheckpointSession, Journal } from "./checkpoint.ts";
import { Lanes, People } from "./people.ts";
import { type BulkProgress, ProgressMeter, progressIntervalMs, type ResultCounts } from "./progress.ts";
import { Rate, type StartedRequest } from "./rate.ts";
import { type AnyRow, type BulkResult, type PreparedRow, prepareRow, resolveKey } from "./row.ts";

export const bulkPolicy = {
  /** Rows that were read and whose result was not consumed, per request at once. */
  openRowsPerRequest: 16,
  /** A row is `unknown` after so many failures while the service was healthy. */
  maxFailures: 10,
  /** The pause of a row after its first failure; it doubles with each failure. */
  initialDelayMs: 500,
  maxDelayMs: 10_000,
  /** When only rows are left that have failed so often, and nothing has succeeded for this time, they are `unknown`. */
  patienceMs: 5 * 60_000,
} as const;

export interface RunSettings {
  client: IssuingClient;
  namespace: string;
  template: Template<unknown>;
  concurrency: number;
  maxPerSecond: number;
  total: number | undefined;
  onProgress: ((progress: BulkProgress) => void) | undefined;
  signal: AbortSignal | undefined;
  clock: Clock;
  random: () => number;
}

type Ending =
  | { status: "issued"; card: Card }
  | { status: "replayed"; cardId: string }
  | { status: "rejected" | "unknown"; error: IssuingError };

export class BulkRun<Row extends AnyRow> {
  readonly #settings: RunSettings;
  readonly #session: CheckpointSession | undefined;
  readonly #source: Iterable<Row> | AsyncIterable<Row>;
  readonly #journal: Journal;
  readonly #rate: Rate;
  readonly #meter: ProgressMeter;
  readonly #people = new People();
  readonly #lanes = new Lanes<PreparedRow<Row>>();
  /** Rows that may be sent, in this order. */
  readonly #ready: PreparedRow<Row>[] = [];
  readonly #results: BulkResult<Row>[] = [];
  readonly #counts: ResultCounts = { issued: 0, replayed: 0, rejected: 0, unknown: 0 };
  readonly #ended = createSignal();
  #changed = createSignal();
  #roomFreed = createSignal();
  #read = 0;
  /** Rows without a result yet. */
  #unfinished = 0;
  #inFlight = 0;
  /** Rows whose outcome is being stored. */
  #storing = 0;
  #canStore = true;
  #isSourceRead = false;
  #closeSource: (() => unknown) | undefined;
  #sourceError: { error: unknown } | undefined;
  #stopped: { error: unknown } | undefined;
  #lastSuccessMs: number;
  #cancelWake: (() => void) | undefined;
  #cancelProgress: (() => void) | undefined;

  constructor(
    settings: RunSettings,
    session: CheckpointSession | undefined,
    source: Iterable<Row> | AsyncIterable<Row>,
  ) {
    const { clock, total } = settings;
    this.#settings = settings;
    this.#session = session;
    this.#source = source;
    this.#rate = new Rate(settings);
    this.#meter = new ProgressMeter({ clock, total, issuedBefore: session?.issued ?? 0 });
    this.#lastSuccessMs = clock.monotonicMs();
    this.#journal = new Journal(session, (error) => {
      this.#canStore = false;
      this.#stop(error);
    });
  }

  /** @throws what stopped the run, after the results of the rows that have ended. */
  async *results(): AsyncGenerator<BulkResult<Row>, void, undefined> {
    const { signal } = this.#settings;
    const onAbort = () => this.#stop(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    try {
      void this.#readSource();
      for (;;) {
        const result = this.#results.shift();
        if (result !== undefined) {
          this.#roomFreed.resolve();
          yield result;
        } else if (this.#ended.isResolved) break;
        else await this.#changed.promise;
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    const failure = this.#stopped ?? this.#sourceError;
    if (failure !== undefined) throw failure.error;
  }

  /** Waits for the requests that are running, and closes the checkpoint. */
  async close(): Promise<void> {
    this.#stop(undefined);
    await this.#ended.promise;
    this.#cancelProgress?.();
    this.#reportProgress();
    await this.#journal.close();
  }

  async #readSource(): Promise<void> {
    const source = this.#source;
    const iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    this.#closeSource = () => iterator.return?.();
    const maxOpen = this.#settings.concurrency * bulkPolicy.openRowsPerRequest;
    try {
      while (this.#stopped === undefined) {
        if (this.#unfinished + this.#results.length >= maxOpen) {
          this.#roomFreed = createSignal();
          await this.#roomFreed.promise;
          continue;
        }
        const next = await iterator.next();
        if (this.#stopped !== undefined) return; // and the run may have ended before
        if (next.done) break;
        await this.#addRow(next.value);
      }
    } catch (error) {
      this.#sourceError = { error };
    }
    this.#closeSource = undefined;
    this.#isSourceRead = true;
    this.#endWhenComplete();
  }

  async #addRow(row: Row): Promise<void> {
    const { template, namespace } = this.#settings;
    const index = this.#read;
    this.#read += 1;
    this.#unfinished += 1;
    let idempotencyKey = "";
    let prepared: PreparedRow<Row>;
    try {
      idempotencyKey = await resolveKey(row, template.id, namespace);
      prepared = await prepareRow(row, index, idempotencyKey, template);
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      return this.#deliver({ row, index, idempotencyKey }, { status: "rejected", error });
    }
    const samePersonAs = this.#people.add(prepared.contacts, index);
    if (samePersonAs !== undefined) prepared.samePersonAs = samePersonAs;
    if (this.#lanes.enter(prepared)) void this.#begin(prepared);
  }

  /** The row is the first of its person: finds out whether it has to be sent, and records that it will be. */
  async #begin(row: PreparedRow<Row>): Promise<void> {
    const { clock } = this.#settings;
    const { keyHash, rowHash, idempotencyKey } = row;
    let known: CheckpointRecord | undefined;
    try {
      known = await this.#session?.find(keyHash);
    } catch (error) {
      return this.#stop(error);
    }
    if (known === undefined || known.outcome === "rejected") {
      row.firstAttemptAt = clock.now();
      const record = { keyHash, rowHash, firstAttemptAt: row.firstAttemptAt };
      return this.#journal.add(record, () => this.#makeReady(row));
    }
    if (known.rowHash !== rowHash)
      return this.#finish(row, { status: "rejected", error: changedRowError(idempotencyKey) });
    if (known.outcome === "issued")
      return this.#finish(row, { status: "replayed", cardId: known.cardId ?? "" });
    row.firstAttemptAt = Math.min(known.firstAttemptAt, clock.now()); // the clock may have been corrected
    row.mayExist = true;
    try {
      getRemainingRetentionMs(row.firstAttemptAt, clock.now(), idempotencyKey);
    } catch (error) {
      return this.#finish(row, { status: "unknown", error: error as IssuingError });
    }
    this.#makeReady(row);
  }

  #makeReady(row: PreparedRow<Row>): void {
    this.#ready.push(row);
    this.#sendReady();
  }

  /** Sends rows until the rate allows no more; then waits for a timer, or for the end of a request. */
  #sendReady(): void {
    const { clock } = this.#settings;
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    while (this.#stopped === undefined && this.#ready.length > 0) {
      const nowMs = clock.monotonicMs();
      const rateDelayMs = this.#rate.getDelayMs(this.#inFlight);
      if (rateDelayMs === undefined) return;
      const position = this.#ready.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs);
      const rowDelayMs =
        position >= 0 ? 0 : Math.min(...this.#ready.map(({ notBeforeMs }) => notBeforeMs)) - nowMs;
      const delayMs = Math.max(rateDelayMs, rowDelayMs);
      this.#startProgress();
      if (delayMs > 0) {
        this.#cancelWake = clock.after(delayMs, () => this.#sendReady());
        return;
      }
      const [row] = this.#ready.splice(position, 1);
      if (row !== undefined) void this.#send(row);
    }
  }

  async #send(row: PreparedRow<Row>): Promise<void> {
    const { client, template, clock } = this.#settings;
    const { request, idempotencyKey } = row;
    const firstAttemptAt = Math.min(row.firstAttemptAt, clock.now());
    const sent = this.#rate.start();
    this.#inFlight += 1;
    try {
      const card = await client.issueCard(template.id, request, {
        idempotencyKey,
        firstAttemptAt,
        maxRetries: 0,
      });
      this.#inFlight -= 1;
      this.#rate.end(sent, "responded");
      this.#lastSuccessMs = clock.monotonicMs();
      this.#store(row, { status: "issued", card }, card.id);
    } catch (error) {
      this.#inFlight -= 1;
      if (!isIssuingError(error) || stoppingCodes.has(error.code)) this.#stop(error);
      else if (shouldRepeat(error, row.mayExist)) this.#fail(row, sent, error);
      else {
        this.#rate.end(sent, "responded");
        // An earlier attempt may have issued the card. A 422 is about the request, which was the same.
        const isUnknown = error.outcome === "unknown" || (row.mayExist && error.code !== "validation");
        this.#store(row, { status: isUnknown ? "unknown" : "rejected", error }, error.cardId);
      }
    }
    this.#sendReady();
    this.#endWhenComplete();
  }

  /** Decides whether a row is sent again after a failure that is not about its content. */
  #fail(row: PreparedRow<Row>, sent: StartedRequest, error: IssuingError): void {
    const { clock, random } = this.#settings;
    const { code, outcome, retryAfterMs } = error;
    const isConflict = code === "conflict";
    const isRateLimited = code === "rate-limited";
    this.#rate.end(sent, isConflict ? "responded" : isRateLimited ? "rate-limited" : "failed", retryAfterMs);
    if (outcome === "unknown") row.mayExist = true;
    row.failures += 1;
    if (isConflict || (!isRateLimited && this.#rate.isHealthy)) row.countedFailures += 1;

    const { maxFailures, patienceMs, initialDelayMs, maxDelayMs } = bulkPolicy;
    const nowMs = clock.monotonicMs();
    const isLastOfMany =
      this.#isSourceRead && row.failures >= maxFailures && nowMs - this.#lastSuccessMs >= patienceMs;
    if (row.countedFailures >= maxFailures || (isLastOfMany && !isRateLimited)) {
      this.#store(row, { status: "unknown", error }, error.cardId);
      return;
    }
    const delayMs = Math.min(maxDelayMs, initialDelayMs * 2 ** (row.failures - 1));
    row.notBeforeMs = nowMs + delayMs * (0.5 + random() / 2);
    this.#ready.push(row);
  }

  /** Records the outcome, and delivers the result when the record is durable. */
  #store(
    row: PreparedRow<Row>,
    ending: Ending & { status: "issued" | "rejected" | "unknown" },
    cardId?: string,
  ): void {
    const { keyHash, rowHash, firstAttemptAt } = row;
    const outcome = cardId === undefined ? ending.status : "issued";
    this.#storing += 1;
    this.#journal.add(
      { keyHash, rowHash, firstAttemptAt, outcome, ...(cardId !== undefined && { cardId }) },
      () => {
        this.#storing -= 1;
        this.#finish(row, ending);
      },
    );
  }

  #finish(row: PreparedRow<Row>, ending: Ending): void {
    for (const next of this.#lanes.leave(row)) void this.#begin(next);
    this.#deliver(row, ending);
  }

  #deliver(
    row: Pick<PreparedRow<Row>, "row" | "index" | "idempotencyKey" | "samePersonAs">,
    ending: Ending,
  ): void {
    const { index, idempotencyKey, samePersonAs } = row;
    this.#unfinished -= 1;
    this.#counts[ending.status] += 1;
    this.#results.push({
      row: row.row,
      index,
      idempotencyKey,
      ...(samePersonAs !== undefined && { samePersonAs }),
      ...ending,
    });
    this.#changed.resolve();
    this.#changed = createSignal();
    this.#endWhenComplete();
  }

  /** Sends nothing more. The first reason counts. */
  #stop(error: unknown): void {
    this.#stopped ??= { error };
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    this.#roomFreed.resolve();
    // Not awaited: a generator that is waiting for its next row would not return.
    void Promise.resolve()
      .then(this.#closeSource)
      .catch(() => {});
    this.#closeSource = undefined;
    this.#endWhenComplete();
  }

  #endWhenComplete(): void {
    const isComplete = this.#isSourceRead && this.#unfinished === 0;
    const isStored = this.#storing === 0 || !this.#canStore;
    const isStopped = this.#stopped !== undefined && this.#inFlight === 0 && isStored;
    if (!isComplete && !isStopped) return;
    this.#ended.resolve();
    this.#changed.resolve();
  }

  /** Only while requests run or wait: the timer does not keep a program alive that does not consume the results. */
  #startProgress(): void {
    if (this.#cancelProgress !== undefined || this.#settings.onProgress === undefined) return;
    this.#cancelProgress = this.#settings.clock.after(progressIntervalMs, () => {
      this.#cancelProgress = undefined;
      this.#reportProgress();
      if (this.#inFlight > 0 || this.#cancelWake !== undefined) this.#startProgress();
    });
  }

  #reportProgress(): void {
    const { concurrency, pausedMs } = this.#rate;
    const facts = { read: this.#read, inFlight: this.#inFlight, concurrency, pausedMs, counts: this.#counts };
    notify(this.#settings.onProgress, this.#meter.measure(facts));
  }
}

/** The API key is refused, or cannot be read: no other row would succeed. */
const stoppingCodes: ReadonlySet<string> = new Set(["unauthorized", "forbidden", "configuration"]);

function shouldRepeat({ code, cardId, retryable }: IssuingError, mayExist: boolean): boolean {
  if (cardId !== undefined) return false; // the card exists, and another attempt would get the same response
  // 409 after an attempt without a response: the service can still be working on that attempt.
  return retryable || code === "invalid-response" || (code === "conflict" && mayExist);
}

function changedRowError(idempotencyKey: string): IssuingError {
  return new IssuingError(
    "The row has changed since it was sent with this key, and its card was or may have been issued. Restore the row, or issue another card with a salt.",
    { code: "idempotency-mismatch", outcome: "not-sent", idempotencyKey },
  );
}

/** A promise that is resolved by a method. */
function createSignal() {
  let resolvePromise = () => {};
  const signal = {
    isResolved: false,
    promise: new Promise<void>((resolve) => {
      resolvePromise = resolve;
    }),
    resolve() {
      signal.isResolved = true;
      resolvePromise();
    },
  };
  return signal;
}
