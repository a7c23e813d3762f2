/** One bulk run: reads rows ahead, sends them at the rate that the service allows, records what happens, and yields the results. */
import type { IssuingClient } from "../client.ts";
import type { Clock } from "../clock.ts";
import { type IssuingError, isIssuingError } from "../errors.ts";
import type { Template } from "../template.ts";
import { type CheckpointRecord, type CheckpointSession, Journal } from "./checkpoint.ts";
import { Lanes, People } from "./people.ts";
import { type BulkProgress, Progress, type ResultCounts } from "./progress.ts";
import { Rate, type StartedRequest } from "./rate.ts";
import { countFailure, SendQueue, shouldRepeat, stoppingCodes } from "./repeat.ts";
import { Results } from "./results.ts";
import {
  type AnyRow,
  type BulkResult,
  type Ending,
  type PreparedRow,
  prepareRow,
  resolveKey,
  resumeRow,
} from "./row.ts";
import type { Source } from "./source.ts";

/** Rows that were read and whose result was not consumed, per request at once. */
export const openRowsPerRequest = 16;

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

export class BulkRun<Row extends AnyRow> {
  readonly #settings: RunSettings;
  readonly #onAbort = () => this.#stop(this.#settings.signal?.reason);
  readonly #session: CheckpointSession | undefined;
  readonly #source: Source<Row>;
  readonly #journal: Journal;
  readonly #rate: Rate;
  readonly #progress: Progress;
  readonly #people = new People();
  readonly #lanes = new Lanes<PreparedRow<Row>>();
  readonly #queue = new SendQueue<Row>();
  readonly #results = new Results<BulkResult<Row>>();
  readonly #counts: ResultCounts = { issued: 0, replayed: 0, rejected: 0, unknown: 0 };
  #read = 0;
  /** Rows without a result yet. */
  #unfinished = 0;
  #inFlight = 0;
  /** Rows whose outcome is being stored. */
  #storing = 0;
  #canStore = true;
  #isSourceRead = false;
  #sourceError: { error: unknown } | undefined;
  #stopped: { error: unknown } | undefined;
  #lastSuccessMs: number;
  #lastFailure: IssuingError | undefined;
  #cancelWake: (() => void) | undefined;

  constructor(settings: RunSettings, session: CheckpointSession | undefined, source: Source<Row>) {
    const { clock } = settings;
    this.#settings = settings;
    this.#session = session;
    this.#source = source;
    this.#rate = new Rate(settings);
    this.#progress = new Progress(settings, session?.issued ?? 0, () => ({
      read: this.#read,
      inFlight: this.#inFlight,
      isWaiting: this.#cancelWake !== undefined,
      concurrency: this.#rate.concurrency,
      pausedMs: this.#rate.pausedMs,
      lastFailure: this.#lastFailure,
      counts: this.#counts,
    }));
    this.#lastSuccessMs = clock.monotonicMs();
    this.#journal = new Journal(session, (error) => {
      this.#canStore = false;
      this.#stop(error);
    });
  }

  start(): void {
    const { signal } = this.#settings;
    signal?.addEventListener("abort", this.#onAbort);
    void this.#readSource();
  }

  /** @returns the next result, when there is one. */
  takeResult(): BulkResult<Row> | undefined {
    return this.#results.take();
  }

  /** @returns false when all rows have ended. @throws what stopped the run, after the results of the rows that have ended. */
  async waitForResult(): Promise<boolean> {
    if (await this.#results.waitForNext()) return true;
    const failure = this.#stopped ?? this.#sourceError;
    if (failure !== undefined) throw failure.error;
    return false;
  }

  /** Waits for the requests that are running, and closes the checkpoint. */
  async close(): Promise<void> {
    this.#settings.signal?.removeEventListener("abort", this.#onAbort);
    this.#stop(undefined);
    await this.#results.ended;
    this.#progress.end();
    await this.#journal.settle(); // what is recorded is in the queue then
    for (const row of this.#queue.takeAll()) {
      if (!row.mayExist) this.#journal.add(row, { outcome: "not-sent" }, () => {});
    }
    await this.#journal.close();
  }

  async #readSource(): Promise<void> {
    const maxOpen = this.#settings.concurrency * openRowsPerRequest;
    try {
      while (this.#stopped === undefined) {
        if (this.#unfinished + this.#results.count >= maxOpen) {
          await this.#results.waitForConsumer();
          continue;
        }
        const next = await this.#source.next();
        if (this.#stopped !== undefined) return; // and the run may have ended before
        if (next.done) break;
        await this.#addRow(next.value);
      }
    } catch (error) {
      this.#sourceError = { error };
    }
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
    let known: CheckpointRecord | undefined;
    try {
      known = (await this.#session?.find(row.keyHash)) ?? undefined; // null is what many databases return
    } catch (error) {
      return this.#stop(error);
    }
    if (this.#stopped !== undefined) return; // and the checkpoint may be closed
    if (known === undefined || known.outcome === "rejected" || known.outcome === "not-sent") {
      row.firstAttemptAt = clock.now();
      return this.#journal.add(row, {}, () => this.#makeReady(row));
    }
    const ending = resumeRow(row, known, clock.now());
    if (ending !== undefined) return this.#finish(row, ending);
    this.#makeReady(row);
  }

  #makeReady(row: PreparedRow<Row>): void {
    this.#queue.add(row);
    this.#sendReady();
  }

  /** Sends rows until the rate allows no more; then waits for a timer, or for the end of a request. */
  #sendReady(): void {
    const { clock } = this.#settings;
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    while (this.#stopped === undefined) {
      const nowMs = clock.monotonicMs();
      const rowDelayMs = this.#queue.getDelayMs(nowMs);
      const rateDelayMs = this.#rate.getDelayMs(this.#inFlight);
      if (rowDelayMs === undefined || rateDelayMs === undefined) return;
      const delayMs = Math.max(rateDelayMs, rowDelayMs);
      this.#progress.start();
      if (delayMs > 0) {
        this.#cancelWake = clock.after(delayMs, () => this.#sendReady());
        return;
      }
      const row = this.#queue.take(nowMs);
      if (row !== undefined) void this.#send(row);
    }
  }

  async #send(row: PreparedRow<Row>): Promise<void> {
    const { client, template, clock } = this.#settings;
    const { request, idempotencyKey } = row;
    // The row may have waited for hours since it was recorded.
    row.firstAttemptAt = row.mayExist ? Math.min(row.firstAttemptAt, clock.now()) : clock.now();
    const { firstAttemptAt } = row;
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
      if (!isIssuingError(error)) this.#stop(error);
      else if (stoppingCodes.has(error.code)) {
        this.#queue.add(row);
        this.#stop(error);
      } else if (shouldRepeat(error, row.mayExist)) this.#fail(row, sent, error);
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

  /** Sends a row again later, or ends it as `unknown`, after a failure that is not about its content. */
  #fail(row: PreparedRow<Row>, sent: StartedRequest, error: IssuingError): void {
    const { clock, random } = this.#settings;
    const { code, outcome, retryAfterMs } = error;
    const end = code === "conflict" ? "responded" : code === "rate-limited" ? "rate-limited" : "failed";
    this.#rate.end(sent, end, retryAfterMs);
    this.#lastFailure = error;
    if (outcome === "unknown") row.mayExist = true;
    const nowMs = clock.monotonicMs();
    const delayMs = countFailure(row, code, {
      isServiceHealthy: this.#rate.isHealthy,
      isSourceRead: this.#isSourceRead,
      sinceSuccessMs: nowMs - this.#lastSuccessMs,
      random,
    });
    if (delayMs === undefined) this.#store(row, { status: "unknown", error }, error.cardId);
    else {
      row.notBeforeMs = nowMs + delayMs;
      this.#queue.add(row);
    }
  }

  /** Records the outcome, and delivers the result when the record is durable. */
  #store(
    row: PreparedRow<Row>,
    ending: Ending & { status: "issued" | "rejected" | "unknown" },
    cardId?: string,
  ): void {
    this.#storing += 1;
    const result = cardId === undefined ? { outcome: ending.status } : { outcome: "issued" as const, cardId };
    this.#journal.add(row, result, () => {
      this.#storing -= 1;
      this.#finish(row, ending);
    });
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
    this.#results.add({
      row: row.row,
      index,
      idempotencyKey,
      ...(samePersonAs !== undefined && { samePersonAs }),
      ...ending,
    });
    this.#endWhenComplete();
  }

  /** Sends nothing more. The first reason counts. */
  #stop(error: unknown): void {
    this.#stopped ??= { error };
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    this.#results.letRead();
    this.#source.close();
    this.#endWhenComplete();
  }

  #endWhenComplete(): void {
    const isComplete = this.#isSourceRead && this.#unfinished === 0;
    const isStored = this.#storing === 0 || !this.#canStore;
    const isStopped = this.#stopped !== undefined && this.#inFlight === 0 && isStored;
    if (isComplete || isStopped) this.#results.end();
  }
}
