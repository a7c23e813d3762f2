/** Records how attempts ended. It retries while the database is unavailable, and records cards that arrive together in one transaction. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { OutboxDatabase } from "./database.ts";
import { endPauses, type Scope, toPause } from "./pause.ts";
import { type IssuedCard, type IssuedResult, type Recorder, recordCards } from "./record.ts";
import type { Report } from "./report.ts";
import type { Operation } from "./statement.ts";

/** How long to retry recording the end of an attempt, which only this process knows. */
const maxWritingMs = 60_000;

export interface RecordedCard {
  result: IssuedResult | undefined;
  /** The error of the callback, which is called again after `callbackInMs`. */
  error?: unknown;
  callbackInMs: number;
}

/** Cards that are recorded in one transaction. */
interface Batch {
  cards: IssuedCard[];
  /** The result of each card. */
  recorded: Promise<readonly Promise<RecordedCard>[]>;
}

export class Writer {
  readonly #database: OutboxDatabase;
  readonly #clock: IssuingSteps<unknown>["clock"];
  readonly #recorder: Recorder;
  readonly #report: Report;
  /** Whether a pause was seen in the tables. The next card ends it. */
  isPauseKnown = false;
  /** The batch to which cards are added until its transaction begins. */
  #batch: Batch | undefined;

  constructor(
    database: OutboxDatabase,
    clock: IssuingSteps<unknown>["clock"],
    recorder: Recorder,
    report: Report,
  ) {
    this.#database = database;
    this.#clock = clock;
    this.#recorder = recorder;
    this.#report = report;
  }

  /**
   * Runs an operation with the callback, and without it when that fails. When both fail, it retries for a minute.
   * @returns what the operation returned, and the error of the callback.
   */
  async write<Value>(
    operation: (isDelivering: boolean) => Operation<Value>,
    hasCallback: boolean,
  ): Promise<{ value: Value; error?: unknown }> {
    const untilMs = this.#clock.monotonicMs() + maxWritingMs;
    for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 5_000)) {
      const failure = await this.#tryWrite(operation, hasCallback);
      if ("value" in failure) return failure;
      if (this.#clock.monotonicMs() + delayMs > untilMs) throw failure.error;
      this.#report({ outcome: "unavailable", error: failure.error });
      await new Promise<void>((resolve) => this.#clock.after(delayMs, resolve));
    }
  }

  async #tryWrite<Value>(
    operation: (isDelivering: boolean) => Operation<Value>,
    hasCallback: boolean,
  ): Promise<{ value: Value; error?: unknown } | { error: unknown }> {
    let error: unknown;
    for (const isDelivering of hasCallback ? [true, false] : [true]) {
      try {
        const value = await this.#database.write(operation(isDelivering), isDelivering && hasCallback);
        return { value, ...(error !== undefined && { error }) };
      } catch (failure) {
        error = failure;
      }
    }
    return { error };
  }

  async recordCard(card: IssuedCard): Promise<RecordedCard | undefined> {
    this.#batch ??= this.#openBatch();
    const { cards, recorded } = this.#batch;
    const index = cards.push(card) - 1;
    return (await recorded)[index];
  }

  /** Records all cards that arrive before the transaction begins in that transaction, and one by one when it fails. */
  #openBatch(): Batch {
    const cards: IssuedCard[] = [];
    const hasCallback = this.#recorder.onIssued !== undefined;
    const recordOne = async (card: IssuedCard): Promise<RecordedCard> => {
      const { value, error } = await this.write(
        (isDelivering) => this.#recordCards([card], isDelivering),
        hasCallback,
      );
      this.#reportEnded(value.ended);
      return { result: value.results[0], error, callbackInMs: value.callbackInMs };
    };
    const recordWithout = (error: unknown) => async (card: IssuedCard) => {
      const { value } = await this.write(() => this.#recordCards([card], false), false);
      this.#reportEnded(value.ended);
      return { result: value.results[0], error, callbackInMs: value.callbackInMs };
    };
    const recorded = this.#database.write(this.#recordCards(cards, true), hasCallback).then(
      ({ results, callbackInMs, ended }) => {
        this.#reportEnded(ended);
        return results.map((result) => Promise.resolve({ result, callbackInMs }));
      },
      (error: unknown) => {
        this.#closeBatch(cards);
        const record = cards.length > 1 || !hasCallback ? recordOne : recordWithout(error);
        let previous: Promise<unknown> = Promise.resolve();
        return cards.map((card) => {
          const recorded = previous.then(() => record(card));
          previous = recorded.catch(() => {}); // one after another: no card shares a transaction with one whose callback fails
          return recorded;
        });
      },
    );
    return { cards, recorded };
  }

  #closeBatch(cards: IssuedCard[]): void {
    if (this.#batch?.cards === cards) this.#batch = undefined;
  }

  #reportEnded(ended: readonly Scope[]): void {
    for (const pause of ended) this.#report({ outcome: "resumed", pause: toPause(pause) });
  }

  *#recordCards(cards: IssuedCard[], isDelivering: boolean) {
    this.#closeBatch(cards);
    const recorded = yield* recordCards(this.#recorder, cards, isDelivering);
    const ended: Scope[] = [];
    const templates = this.isPauseKnown ? new Set(cards.map(({ entry }) => entry.template)) : [];
    for (const template of templates) ended.push(...(yield* endPauses(template)));
    return { ...recorded, ended };
  }
}
