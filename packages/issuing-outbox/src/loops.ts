/** `work` and `drain`: starts the loops of an outbox, and stops them. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { notify } from "@loyalty-cards/internal/reporting";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import { invalid } from "./add.ts";
import type { OutboxCounts } from "./entry.ts";
import { countEntries } from "./inspect.ts";
import type { DrainOptions, OutboxWorker } from "./outbox.ts";
import type { AttemptResult } from "./sender.ts";
import {
  Loop,
  type LoopContext,
  type LoopOptions,
  parseWorkOptions,
  requireInteger,
  requireNumber,
  type WorkOptions,
} from "./worker.ts";

/** `drain` waits for entries that are due within this time. */
const drainIdleMs = 10_000;
const progressIntervalMs = 100;
const endless = Number.POSITIVE_INFINITY;

export class Loops {
  readonly #context: LoopContext & { clock: IssuingSteps<unknown>["clock"] };
  readonly #running = new Set<Loop>();
  #isStopped = false;

  constructor(context: LoopContext & { clock: IssuingSteps<unknown>["clock"] }) {
    this.#context = context;
  }

  /** Makes the loops of this process look for entries. */
  poll(): void {
    for (const loop of this.#running) loop.poll();
  }

  work(options: WorkOptions): OutboxWorker {
    requireKnownOptions("work", options, ["concurrency", "maxPerSecond", "pollMs"]);
    const parsed = parseWorkOptions(options, 8);
    const loop = this.#start({ ...parsed, maxIdleMs: endless, maxEntries: endless, endsAtMs: endless });
    const stop: OutboxWorker["stop"] = (stopOptions) => this.#stop(loop, stopOptions?.graceMs);
    return { stop, [Symbol.asyncDispose]: () => stop() };
  }

  async drain(options: DrainOptions): Promise<OutboxCounts> {
    const { maxMs = endless, maxEntries = endless, onProgress, signal } = options;
    requireNumber("maxMs", maxMs, 0, endless);
    requireInteger("maxEntries", maxEntries, 0, endless);
    const ownNames = ["maxMs", "maxEntries", "onProgress", "signal"];
    requireKnownOptions("drain", options, ["concurrency", "maxPerSecond", ...ownNames]);
    const workOptions = parseWorkOptions(options, 32);
    const { database, sender, clock, ready } = this.#context;
    await ready();
    const progress = onProgress && this.#createProgress(await database.read(countEntries([])), onProgress);
    const loop = this.#start({
      ...workOptions,
      maxIdleMs: drainIdleMs,
      maxEntries: signal?.aborted ? 0 : maxEntries,
      endsAtMs: clock.monotonicMs() + maxMs,
      ...(progress && { onProgress: progress }),
    });
    const stop = () => loop.stop();
    signal?.addEventListener("abort", stop, { once: true });
    await loop.ended;
    signal?.removeEventListener("abort", stop);
    const counts = await database.read(countEntries(sender.ownPauses));
    notify(onProgress, counts);
    return counts;
  }

  /** Stops all loops. No other one starts. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#running].map((loop) => this.#stop(loop, graceMs)));
  }

  #start(options: LoopOptions): Loop {
    if (this.#isStopped) throw invalid("The outbox is closed."); // while drain was starting
    const loop = new Loop(this.#context, options);
    this.#running.add(loop);
    const remove = () => void this.#running.delete(loop);
    loop.ended.then(remove, remove);
    return loop;
  }

  async #stop(loop: Loop, graceMs?: number): Promise<void> {
    const limitMs = parseGrace(graceMs);
    loop.stop();
    const cancel = this.#context.clock.after(limitMs, () => loop.abort());
    await loop.ended;
    cancel();
  }

  /** Adds the results of this process to the counts at the start, because counting a million entries takes a moment. */
  #createProgress(counts: OutboxCounts, onProgress: (counts: OutboxCounts) => void) {
    const { sender, clock } = this.#context;
    let reportedAtMs = clock.monotonicMs();
    return ({ state, end }: Partial<AttemptResult> = {}): void => {
      if (state !== undefined) {
        counts[state] += 1;
        counts.waiting -= 1;
      }
      const nowMs = clock.monotonicMs();
      const isPaused = end === "failed" && sender.pauses.length > 0; // a pause is reported while it lasts
      if (nowMs - reportedAtMs < progressIntervalMs && !isPaused) return;
      reportedAtMs = nowMs;
      notify(onProgress, { ...counts, paused: sender.pauses });
    };
  }
}

/** @throws {TypeError} for an invalid `graceMs`. */
export function parseGrace(graceMs = 10_000): number {
  requireNumber("graceMs", graceMs, 0, maxTimerMs);
  return graceMs;
}
