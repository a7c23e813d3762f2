/** One attempt at one entry: sends the request, records how it ended, and reports it. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { Card } from "@loyalty-cards/issuing-client";
import { work } from "./add.ts";
import { CallbackError, type OutboxDatabase } from "./database.ts";
import type { OutboxState, Pause } from "./entry.ts";
import { type LeasedEntry, type LeaseResult, leaseEntries } from "./lease.ts";
import { OwnPause } from "./own-pause.ts";
import { endPauses, pausePolicy, pauseScope, toPause } from "./pause.ts";
import type { RequestEnd } from "./rate-limiter.ts";
import {
  deliver,
  type IssuedCard,
  postponeDelivery,
  type Recorder,
  recordFailure,
  returnUnsent,
} from "./record.ts";
import type { EntryRef, Report } from "./report.ts";
import { type AttemptEnd, judge, type Verdict } from "./verdict.ts";
import { Writer } from "./writer.ts";

/** A lease lasts this much longer than the call, so that its result can be committed. */
const leaseMarginMs = 30_000;

/** How an attempt ended, for the rate limiter and for `issue`. */
export interface AttemptResult {
  end: RequestEnd | "delivered";
  /** The state of the entry, when it is no longer waiting. */
  state?: Exclude<OutboxState, "waiting">;
  card?: Card;
}

export interface SendOptions {
  deadlineMs: number;
  signal?: AbortSignal;
  /** Called at a response that ends the entry, before it is recorded. */
  onEnded?: () => void;
}

export class Sender {
  readonly #database: OutboxDatabase;
  readonly #steps: IssuingSteps<Card>;
  readonly #recorder: Recorder;
  readonly #report: Report;
  readonly #running = new Map<string, Promise<AttemptResult>>();
  /** When a response last showed that the service processes requests, on the monotonic clock. */
  #respondedAtMs = Number.NEGATIVE_INFINITY;
  readonly #writer: Writer;
  readonly #own: OwnPause;
  #shared: Pause[] = [];
  #isCopyKnown = false;
  #sharedPauseCount = 0;

  constructor(database: OutboxDatabase, steps: IssuingSteps<Card>, recorder: Recorder, report: Report) {
    this.#database = database;
    this.#steps = steps;
    this.#recorder = recorder;
    this.#report = report;
    this.#writer = new Writer(database, steps.clock, recorder, report);
    this.#own = new OwnPause(steps.clock, report);
  }

  /** Attempts of this process that have not ended, by their lease: SQLite gives the id of a deleted entry to another one. */
  get running(): ReadonlyMap<string, Promise<AttemptResult>> {
    return this.#running;
  }

  /** The pauses that were seen last, and those of this process. */
  get pauses(): Pause[] {
    return [...this.#shared, ...this.ownPauses];
  }

  /** How many times a pause began or became longer in this process. */
  get pauseCount(): number {
    return this.#sharedPauseCount + this.#own.count;
  }

  get ownPauses(): Pause[] {
    return this.#own.pauses;
  }

  /** Leases entries that may be sent now. @param id leases only this entry. */
  async lease(limit: number, deadlineMs: number, id?: number): Promise<LeaseResult | "paused"> {
    const { isWaiting } = this.#own;
    if (isWaiting && id !== undefined) return "paused";
    const isTry = !isWaiting && this.#own.waitForTry(deadlineMs);
    const leaseMs = Math.ceil(deadlineMs) + leaseMarginMs; // PostgreSQL takes no fraction
    const maxRequests = isWaiting ? 0 : isTry ? 1 : limit;
    const request = { limit, maxRequests, leaseMs, ...(id !== undefined && { id }) };
    const result = await this.#database.write(leaseEntries(this.#recorder.settings, request));
    if (isTry && result.leased.every((entry) => entry.work === work.callback)) this.#own.waitForTry(0);
    this.#writer.isPauseKnown = result.paused.length > 0;
    this.#shared = result.paused.map(toPause);
    const copy = this.#shared.find(({ reason }) => reason === "restored");
    if (copy !== undefined && !this.#isCopyKnown) this.#report({ outcome: "paused", pause: copy });
    this.#isCopyKnown = copy !== undefined;
    for (const entry of result.expired)
      this.#report({
        outcome: "unknown",
        entry: toRef(entry),
        code: "idempotency-expired",
        attempts: entry.attempts,
      });
    return isWaiting && result.leased.length === 0 ? "paused" : result;
  }

  async returnUnsent(entries: readonly LeasedEntry[]): Promise<void> {
    await this.#database.write(returnUnsent(this.#recorder, entries));
  }

  /** Sends or delivers a leased entry. Never rejects. */
  run(leased: LeasedEntry, options: SendOptions): Promise<AttemptResult> {
    const attempt = leased.work === work.callback ? this.#deliver(leased) : this.#send(leased, options);
    const result = attempt
      .catch((error: unknown): AttemptResult => {
        this.#report({ outcome: "unavailable", error });
        return { end: "failed" };
      })
      .finally(() => this.#running.delete(leased.lease));
    this.#running.set(leased.lease, result);
    return result;
  }

  async #send(leased: LeasedEntry, { deadlineMs, signal, onEnded }: SendOptions): Promise<AttemptResult> {
    const { clock } = this.#steps;
    const { template: templateId, body = "", idempotencyKey, firstAttemptAtMs, leasedAtMs } = leased;
    const startedMs = clock.monotonicMs();
    const startedAtMs = clock.now();
    let end: AttemptEnd;
    let status: number | undefined;
    try {
      const card = await this.#steps.send(
        {
          templateId,
          body,
          idempotencyKey,
          // On the client's clock, which can differ from the database's; before this attempt, even if a clock was set back meanwhile.
          ...(firstAttemptAtMs !== undefined && {
            firstAttemptAt: startedAtMs - Math.max(1, leasedAtMs - firstAttemptAtMs),
          }),
        },
        {
          deadlineMs,
          signal,
          onResponse: (meta) => {
            status = meta.status;
            this.#own.compareClocks(meta.headers.get("date"), startedMs);
          },
        },
      );
      end = { card };
    } catch (error) {
      end = { error, status };
    }
    const elapsedMs = clock.monotonicMs() - startedMs;
    const verdict = judge(end, leased, leasedAtMs + elapsedMs);
    if (isProcessed(verdict)) this.#respondedAtMs = clock.monotonicMs();
    if (verdict.type !== "waiting") onEnded?.();
    if (verdict.type === "issued") {
      await this.#recordCard(leased, verdict);
      return { end: "responded", state: "issued", ...("card" in end && { card: end.card as Card }) };
    }
    await this.#recordFailure(leased, verdict, startedMs);
    if (verdict.type !== "waiting") return { end: "responded", state: verdict.type };
    if (verdict.code === "rate-limited") return { end: "rate-limited" };
    return { end: verdict.pause === "outage" ? "failed" : "responded" };
  }

  async #recordCard(leased: LeasedEntry, { cardId, publicUrl }: Omit<IssuedCard, "entry">): Promise<void> {
    const { attempts, addedAtMs, leasedAtMs } = leased;
    const entry = toRef(leased);
    this.#own.end();
    const card = { entry: leased, cardId, ...(publicUrl !== undefined && { publicUrl }) };
    const { result, error, callbackInMs = 0 } = (await this.#writer.recordCard(card)) ?? {};
    switch (result) {
      case "another-card":
        return this.#report({ outcome: "another-card", entry, cardId });
      case "forgotten":
        return this.#report({ outcome: "forgotten-card", cardId });
      case "issued":
        this.#report({
          outcome: "issued",
          entry,
          cardId,
          attempts: attempts + 1,
          lagMs: Math.max(0, leasedAtMs - addedAtMs),
        });
    }
    if (error !== undefined) this.reportUndelivered(leased, error, callbackInMs);
  }

  async #recordFailure(
    leased: LeasedEntry,
    verdict: Exclude<Verdict, { type: "issued" }>,
    startedMs: number,
  ): Promise<void> {
    const { random } = this.#recorder;
    const entry = toRef(leased);
    const attempts = leased.attempts + 1;
    const pause = this.#toPauseRequest(leased, verdict, startedMs);
    const { isPauseKnown } = this.#writer;
    if (isProcessed(verdict)) this.#own.end();
    const record = function* (this: Sender, isDelivering: boolean) {
      const recorded = yield* recordFailure(this.#recorder, leased, verdict, isDelivering);
      const { result, retryInMs = 0, callbackInMs = 0 } = recorded;
      const ended =
        isPauseKnown && isProcessed(verdict) ? yield* endPauses(pause ? "" : leased.template) : [];
      const paused = pause && (yield* pauseScope(pause, random));
      return { result, retryInMs, callbackInMs, paused, ended };
    };
    const hasCallback = verdict.type === "rejected" && this.#recorder.onRejected !== undefined;
    const { value, error: callbackError } = await this.#writer.write(record.bind(this), hasCallback);
    if (pause !== undefined) this.#writer.isPauseKnown = true;
    const ended = value.ended.map(toPause);
    if (value.paused !== undefined) {
      this.#sharedPauseCount += 1;
      const { scope, change } = value.paused;
      const pause = toPause(scope);
      this.#shared = this.#shared.filter(({ template }) => template !== pause.template);
      if (change === "ended") ended.push(pause);
      else this.#shared.push(pause);
      if (change === "begun") this.#report({ outcome: "paused", pause });
    }
    for (const pause of ended) this.#report({ outcome: "resumed", pause });
    if (value.result === "lease-lost") return this.#report({ outcome: "lease-lost", entry });
    if (value.result === "corrected") return;
    if (verdict.type === "waiting") {
      const { code, error } = verdict;
      this.#report({ outcome: "failed", entry, code, attempts, error, retryInMs: value.retryInMs });
      if (verdict.pause === "unauthorized") this.#own.begin("unauthorized", startedMs);
    } else if (verdict.type === "unknown") {
      this.#report({ outcome: "unknown", entry, code: verdict.code, attempts, error: verdict.error });
    } else if (value.retryInMs === 0) {
      this.#report({ outcome: "rejected", entry, code: verdict.code, attempts, error: verdict.error });
    }
    if (callbackError !== undefined) this.reportUndelivered(leased, callbackError, value.callbackInMs);
  }

  /** Returns the pause that a failure begins. An outage begins only when no response has arrived since the request was sent. */
  #toPauseRequest(leased: LeasedEntry, verdict: Verdict, startedMs: number) {
    if (verdict.type !== "waiting") return undefined;
    const { retryAfterMs: requestedMs, isInternalError } = verdict;
    const reason = verdict.pause ?? (leased.isProbe && !verdict.isProcessed ? "outage" : undefined);
    if (reason === undefined || reason === "unauthorized") return undefined;
    const isAlone = this.#respondedAtMs < startedMs || leased.isProbe;
    // An entry that always makes the service fail does not hold up those that are added later.
    if (isInternalError && !leased.isProbe && leased.attempts >= pausePolicy.triesBeforeNext[0])
      return undefined;
    if (reason === "outage" && !isAlone && requestedMs === undefined) return undefined;
    const template = reason === "template-not-found" ? leased.template : "";
    return { template, reason, id: leased.id, isProbe: leased.isProbe, requestedMs, isInternalError };
  }

  async #deliver(leased: LeasedEntry): Promise<AttemptResult> {
    const entry = toRef(leased);
    const deliveries = leased.deliveries + 1;
    try {
      if (await this.#database.write(deliver(this.#recorder, leased), true))
        this.#report({ outcome: "delivered", entry, deliveries });
    } catch (error) {
      if (!(error instanceof CallbackError)) throw error;
      const retryInMs = await this.#database.write(postponeDelivery(this.#recorder, leased));
      this.#report({ outcome: "not-delivered", entry, deliveries, error: error.cause, retryInMs });
    }
    return { end: "delivered" };
  }

  /** Reports a callback that failed when it was called for the first time. */
  reportUndelivered(leased: EntryRef, failure: unknown, retryInMs: number): void {
    const error = failure instanceof CallbackError ? failure.cause : failure;
    this.#report({ outcome: "not-delivered", entry: toRef(leased), deliveries: 1, error, retryInMs });
  }
}

const isProcessed = (verdict: Verdict) => verdict.type !== "waiting" || verdict.isProcessed;

const toRef = ({ userId, template }: { userId: string; template: string }) => ({ userId, template });
