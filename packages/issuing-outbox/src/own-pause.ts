/** The pause of this process only, when its API key is not accepted or its clock is wrong. Other processes continue. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { Pause } from "./entry.ts";
import { pausePolicy } from "./pause.ts";
import type { Report } from "./report.ts";

/**
 * The service's clock may differ by this much ([spec 5.7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-7) allows 5 minutes for
 * signatures).
 */
const maxClockDifferenceMs = 3_600_000;

interface State {
  reason: "unauthorized" | "clock";
  since: Date;
  /** On the monotonic clock. */
  untilMs: number;
  pauses: number;
  /** When it began or became longer, on the monotonic clock. */
  begunMs: number;
}

export class OwnPause {
  readonly #clock: IssuingSteps<unknown>["clock"];
  readonly #report: Report;
  #state: State | undefined;
  #isClockWrong = false;
  /** How many times it began or became longer. */
  count = 0;

  constructor(clock: IssuingSteps<unknown>["clock"], report: Report) {
    this.#clock = clock;
    this.#report = report;
  }

  get pauses(): Pause[] {
    if (this.#state === undefined) return [];
    const { reason, since, untilMs } = this.#state;
    return [{ reason, since, until: new Date(this.#clock.now() + untilMs - this.#clock.monotonicMs()) }];
  }

  get isWaiting(): boolean {
    return this.#state !== undefined && this.#clock.monotonicMs() < this.#state.untilMs;
  }

  /** Lets one entry be tried after the pause, and nothing else during the deadline of its call. @returns false when there is no pause. */
  waitForTry(deadlineMs: number): boolean {
    if (this.#state === undefined) return false;
    this.#state.untilMs = this.#clock.monotonicMs() + deadlineMs;
    return true;
  }

  /** Begins the pause, or doubles it. @param startedMs when the request began. A request that began before the pause has no effect. */
  begin(reason: State["reason"], startedMs: number): void {
    const before = this.#state;
    if (before !== undefined && startedMs < before.begunMs) return;
    this.count += 1;
    const pauses = (before?.pauses ?? 0) + 1;
    const { initialMs, maxMs } = pausePolicy;
    const begunMs = this.#clock.monotonicMs();
    const untilMs = begunMs + Math.min(maxMs, initialMs * 2 ** Math.min(pauses, 20));
    this.#state = { reason, since: before?.since ?? new Date(this.#clock.now()), untilMs, pauses, begunMs };
    const [pause] = this.pauses;
    if (before?.reason !== reason && pause !== undefined) this.#report({ outcome: "paused", pause });
  }

  /** Ends the pause after a response that shows that the key is accepted, unless the clock is wrong. */
  end(): void {
    const [pause] = this.pauses;
    if (pause === undefined || this.#isClockWrong) return;
    this.#state = undefined;
    this.#report({ outcome: "resumed", pause });
  }

  /** Begins a pause when the clocks differ, because the 24 hours of a key would be measured wrongly. @param date the header of a response. */
  compareClocks(date: string | null, startedMs: number): void {
    const serviceMs = Date.parse(date ?? "");
    if (Number.isNaN(serviceMs)) return;
    this.#isClockWrong = Math.abs(serviceMs - this.#clock.now()) > maxClockDifferenceMs;
    if (this.#isClockWrong) this.begin("clock", startedMs);
  }
}
