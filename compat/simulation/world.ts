/** The world: one queue of events in virtual time, the trace, and seeded random numbers. */
import { createHash } from "node:crypto";
import { createDraw } from "@loyalty-cards/testing/draw";

/** 2026-01-01, so that traces are easy to read. */
export const startMs = Date.UTC(2026, 0, 1);

export class World {
  readonly seed: number;
  /**
   * Milliseconds since the start of the history. The real time of the world: clocks of machines may
   * differ.
   */
  nowMs = 0;
  /** What happened, in order: requests, responses, commits, deliveries, kills, clocks. */
  readonly trace: string[] = [];
  /** How many have run. */
  #events = 0;
  /** What runs later, the earliest first. */
  #queue: { atMs: number; run: () => void }[] = [];
  readonly #streams = new Map<string, Random>();
  readonly #maxEvents: number;

  /** @param maxEvents of one history. Most have 3 000, a few 50 000. */
  constructor(seed: number, maxEvents = 500_000) {
    this.seed = seed;
    this.#maxEvents = maxEvents;
  }

  /** The stream of random numbers with this name. */
  random(name: string): Random {
    const stream = this.#streams.get(name) ?? createRandom(this.seed, name);
    this.#streams.set(name, stream);
    return stream;
  }

  log(actor: string, what: string): void {
    this.trace.push(`${(this.nowMs / 1000).toFixed(3).padStart(10)}  ${actor.padEnd(10)} ${what}`);
  }

  /**
   * Runs a function after a delay.
   * @returns a function that cancels it.
   */
  after(delayMs: number, run: () => void): () => void {
    const event = { atMs: this.nowMs + Math.max(0, delayMs), run };
    const index = this.#queue.findLastIndex(({ atMs }) => atMs <= event.atMs);
    this.#queue.splice(index + 1, 0, event);
    return () => {
      this.#queue = this.#queue.filter((other) => other !== event);
    };
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /**
   * Runs all events up to this time. After each one, everything that it started in this turn comes
   * to rest. Runs none after the limit, so that a fault that never rests takes no more memory.
   */
  async runUntil(endMs: number): Promise<void> {
    await settle();
    for (let next = this.#queue[0]; next && next.atMs <= endMs; next = this.#queue[0]) {
      if (this.isExhausted) break;
      this.#events++;
      this.#queue.shift();
      this.nowMs = next.atMs;
      next.run();
      await settle();
    }
    this.nowMs = Math.max(this.nowMs, endMs);
  }

  /** Whether the limit of events was reached. */
  get isExhausted(): boolean {
    return this.#events >= this.#maxEvents;
  }

  digest(): string {
    return createHash("sha256").update(this.trace.join("\n")).digest("hex").slice(0, 16);
  }
}

const { setImmediate: realSetImmediate } = globalThis;
let pendingImmediates = 0;

/** What frameworks have written: they are not part of an image. */
export const frameworkLines: string[] = [];

/**
 * Catches what frameworks write, and counts their immediates: a turn has ended when none is left.
 */
export function watchFrameworks(): void {
  console.error = (...values: unknown[]) => void frameworkLines.push(values.map(String).join(" "));
  globalThis.setImmediate = ((run: (...values: unknown[]) => void, ...values: unknown[]) => {
    pendingImmediates++;
    return realSetImmediate(() => {
      pendingImmediates--;
      run(...values);
    });
  }) as typeof setImmediate;
}

/**
 * Resolves when microtasks, ticks and immediates are done. Nothing of an image waits for anything
 * else of the real world.
 */
async function settle(): Promise<void> {
  do await new Promise(realSetImmediate);
  while (pendingImmediates > 0);
}

export type Random = ReturnType<typeof createRandom>;

/**
 * Seeded random numbers: every decision of a history is drawn from a stream that the seed and a
 * name select.
 * @param name one stream per decision, so that removing an action from a history leaves the other
 * decisions as they are.
 */
export function createRandom(seed: number, name: string) {
  const { next, below, pick } = createDraw(hash(`${seed} ${name}`));
  return Object.assign(() => next(), {
    /** An integer from `min` to `max`, both included. */
    integer: (min: number, max: number) => min + below(max - min + 1),
    chance: (probability: number) => next() < probability,
    pick,
    bytes: (length: number) => Buffer.from(Array.from({ length }, () => below(256))),
  });
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value;
}
