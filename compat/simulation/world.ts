/** The world: one queue of events in virtual time, and the trace. */
import { createHash } from "node:crypto";
import { createRandom, type Random } from "./random.ts";

/** 2026-01-01, so that traces are easy to read. */
export const startMs = Date.UTC(2026, 0, 1);

export class World {
  readonly seed: number;
  /** Milliseconds since the start of the history. The real time of the world: clocks of machines may differ. */
  nowMs = 0;
  /** What happened, in order: requests, responses, commits, deliveries, kills, clocks. */
  readonly trace: string[] = [];
  /** What runs later, the earliest first. */
  #queue: { atMs: number; run: () => void }[] = [];
  readonly #streams = new Map<string, Random>();

  constructor(seed: number) {
    this.seed = seed;
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

  /** Runs a function after a delay. @returns a function that cancels it. */
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

  /** Runs all events up to this time. After each one, everything that it started in this turn comes to rest. */
  async runUntil(endMs: number): Promise<void> {
    await settle();
    while (this.#queue[0] !== undefined && this.#queue[0].atMs <= endMs) {
      const { atMs, run } = this.#queue[0];
      this.#queue.shift();
      this.nowMs = atMs;
      run();
      await settle();
    }
    this.nowMs = Math.max(this.nowMs, endMs);
  }

  digest(): string {
    return createHash("sha256").update(this.trace.join("\n")).digest("hex").slice(0, 16);
  }
}

const { setImmediate: realSetImmediate } = globalThis;
let pendingImmediates = 0;

/** What frameworks have written: they are not part of an image. */
export const frameworkLines: string[] = [];

/** Catches what frameworks write, and counts their immediates: a turn has ended when none is left. */
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

/** Resolves when microtasks, ticks and immediates are done. Nothing of an image waits for anything else of the real world. */
async function settle(): Promise<void> {
  do await new Promise(realSetImmediate);
  while (pendingImmediates > 0);
}
