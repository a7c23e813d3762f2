/** The world: one queue of events in virtual time, the machines with their files, and the trace. */
import { createHash } from "node:crypto";
import { createRandom, type Random } from "./random.ts";

interface Event {
  atMs: number;
  order: number;
  run: () => void;
  isCancelled?: boolean;
}

/** 2026-01-01, so that traces are easy to read. */
export const startMs = Date.UTC(2026, 0, 1);

export class World {
  readonly seed: number;
  /** Milliseconds since the start of the history. The real time of the world: clocks of machines may differ. */
  nowMs = 0;
  /** What happened, in order: requests, responses, commits, deliveries, kills, clocks. */
  readonly trace: string[] = [];
  readonly #queue: Event[] = [];
  readonly #streams = new Map<string, Random>();
  #order = 0;

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
    const event: Event = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, run };
    push(this.#queue, event);
    return () => {
      event.isCancelled = true;
    };
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Runs all events up to this time. After each one, everything that it started in this turn comes to rest. */
  async runUntil(endMs: number): Promise<void> {
    await settle();
    for (;;) {
      const event = this.#queue[0];
      if (event === undefined || event.atMs > endMs) break;
      pop(this.#queue);
      if (event.isCancelled) continue;
      this.nowMs = event.atMs;
      event.run();
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

const isBefore = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!isBefore(event, heap[parent] as Event)) break;
    heap[index] = heap[parent] as Event;
    index = parent;
  }
  heap[index] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop() as Event;
  if (heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
    if (!isBefore(heap[child] as Event, last)) break;
    heap[index] = heap[child] as Event;
    index = child;
  }
  heap[index] = last;
}
