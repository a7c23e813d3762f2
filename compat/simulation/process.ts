/**
 * Processes: an image with the globals of the simulation. A process can be killed between any two
 * of its effects.
 */
import crypto from "node:crypto";
import { createRequire } from "node:module";
import express from "express";
import fastify from "fastify";
import lightMyRequest from "light-my-request";
import { type Machine, SimulatedDatabase } from "./files.ts";
import type { Image } from "./image.ts";
import type { Listener, Message, Network, Reply } from "./network.ts";
import { type Random, startMs, type World } from "./world.ts";

declare global {
  /** The process, for programs of the simulation. */
  const simulation: Process;
}

/** Thrown inside a process that has ended: nothing that it still does has an effect. */
class Killed extends Error {}

type Run = (...values: unknown[]) => void;

const realRequire = createRequire(import.meta.url);
const RealDate = Date;

export class Process {
  readonly name: string;
  readonly machine: Machine;
  readonly pid: number;
  isAlive = true;
  /** Ends the process at this number of effects from now: statements, requests and responses. */
  effectsToLive = Number.POSITIVE_INFINITY;
  readonly listeners = new Map<number, Listener>();
  readonly databases = new Set<SimulatedDatabase>();
  /** What it wrote. */
  readonly lines: string[] = [];
  /** How long each request took, without those during which the process was frozen. */
  readonly durationsMs: number[] = [];
  /** What a program of the simulation shows to the simulation. */
  shown: unknown;
  /** Those that have neither fired nor been cleared. */
  readonly timers = new Set<unknown>();
  /** The timers that were left when a program of the simulation had ended its calls. */
  leftTimers = 0;
  readonly #world: World;
  readonly #network: Network<Process>;
  readonly #random: Random;
  readonly #startedAtMs: number;
  readonly #onEnd: () => void;
  /** Until then the process is stopped: nothing of it runs. */
  #frozenUntilMs = 0;

  constructor(network: Network<Process>, machine: Machine, name: string, onEnd: () => void) {
    this.name = name;
    this.machine = machine;
    this.pid = 101 + network.processes.length;
    this.#world = network.world;
    this.#network = network;
    this.#random = network.world.random(`${name} ${this.pid}`);
    this.#startedAtMs = network.world.nowMs;
    this.#onEnd = onEnd;
    network.processes.push(this);
  }

  start(image: Image, env: Record<string, string>): void {
    this.log(`starts as process ${this.pid}`);
    image(this.#createGlobals(env)).catch((error: unknown) => {
      if (!this.isAlive || error instanceof Killed) return;
      this.lines.push(`uncaught: ${(error as Error)?.stack ?? error}`);
      this.end("crashes");
    });
  }

  log(what: string): void {
    this.#world.log(this.name, what);
  }

  /** Ends the process without a chance to do anything. */
  end(how: string): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.log(how);
    this.closeFiles();
    this.#onEnd();
  }

  closeFiles(): void {
    for (const database of this.databases) database.abandon();
  }

  /** Stops the process, as SIGSTOP does; its clock goes on. */
  freeze(ms: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#world.nowMs + ms);
  }

  /** How long the process still does not run. */
  get frozenMs(): number {
    return Math.max(0, this.#frozenUntilMs - this.#world.nowMs);
  }

  /**
   * An effect on the world is about to happen: a process can end there.
   * @returns whether it still runs.
   */
  survives(): boolean {
    if (this.isAlive && --this.effectsToLive < 0) this.end("is killed between two effects");
    return this.isAlive;
  }

  /**
   * The same for statements.
   * @throws {Killed} when the process has ended, or ends here.
   */
  effect(): void {
    if (!this.survives()) throw new Killed("The process has ended.");
  }

  /** Calls the listener on a port. The promise stays pending when the process ends meanwhile. */
  receive(port: number, message: Message): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const run = () => {
        if (!this.isAlive) return;
        if (this.frozenMs > 0) return void this.#world.after(this.frozenMs, run);
        const listener = this.listeners.get(port) as Listener;
        const startedMs = this.#world.nowMs;
        listener(message).then(
          (reply) => {
            if (this.#frozenUntilMs < startedMs)
              this.durationsMs.push(this.#world.nowMs - startedMs);
            if (this.survives()) resolve(reply);
          },
          (error) => this.isAlive && reject(error),
        );
      };
      run();
    });
  }

  #createGlobals(env: Record<string, string>): Record<string, unknown> {
    const now = () => startMs + Math.round(this.#world.nowMs) + this.machine.clockErrorMs;
    class SimulatedDate extends RealDate {
      constructor(...values: unknown[]) {
        super(...((values.length === 0 ? [now()] : values) as [number]));
      }
      static override now = now;
      static override [Symbol.hasInstance](value: unknown): boolean {
        return value instanceof RealDate;
      }
    }
    const write = (...values: unknown[]) =>
      void (this.isAlive && this.lines.push(values.map(String).join(" ")));
    const start =
      (isRepeated: boolean) =>
      (run: Run, ms = 0, ...values: unknown[]) =>
        this.#startTimer(() => run(...values), Math.max(1, ms), isRepeated);
    const clear = (timer?: { cancel(): void }) => timer?.cancel();
    const process = {
      env,
      pid: this.pid,
      platform: "linux",
      versions: {}, // not Node.js: the client then sends with fetch
      once: () => process,
      getBuiltinModule: (name: string) => this.#require(name),
    };
    const globals: Record<string, unknown> = {
      process,
      console: { log: write, info: write, warn: write, error: write },
      Date: SimulatedDate,
      Math: Object.create(Math, { random: { value: this.#random } }),
      performance: { now: () => this.#world.nowMs - this.#startedAtMs },
      crypto: {
        randomUUID: () => this.#createUUID(),
        getRandomValues: (bytes: Uint8Array) => {
          bytes.set(this.#random.bytes(bytes.length));
          return bytes;
        },
      },
      fetch: (input: string | Request, init?: RequestInit) =>
        this.#network.fetch(this, input, init),
      setTimeout: start(false),
      setInterval: start(true),
      setImmediate: (run: Run, ...values: unknown[]) => this.#startTimer(() => run(...values), 0),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
      require: (name: string) => this.#require(name),
      simulation: this,
    };
    globals["globalThis"] = Object.create(globalThis, Object.getOwnPropertyDescriptors(globals));
    return globals;
  }

  #startTimer(run: () => void, delayMs: number, isRepeated = false) {
    let cancel = () => {};
    const fire = () => {
      if (!this.isAlive) return;
      if (this.frozenMs > 0) cancel = this.#world.after(this.frozenMs, fire);
      else {
        if (isRepeated) cancel = this.#world.after(delayMs, fire);
        else this.timers.delete(timer);
        run();
      }
    };
    const timer = {
      cancel: () => {
        cancel();
        this.timers.delete(timer);
      },
      unref: () => timer,
    };
    if (this.isAlive) cancel = this.#world.after(delayMs, fire);
    this.timers.add(timer);
    return timer;
  }

  #createUUID(): string {
    const bytes = this.#random.bytes(16);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  #require(name: string): unknown {
    switch (name.replace("node:", "")) {
      case "express":
        return Object.assign(() => this.#createExpress(), express);
      case "fastify":
        return () => this.#createFastify();
      case "sqlite":
        return { DatabaseSync: SimulatedDatabase.bind(undefined, this) };
      case "crypto":
        return { ...crypto, randomBytes: this.#random.bytes, randomUUID: () => this.#createUUID() };
      default:
        return realRequire(name);
    }
  }

  /** Express itself, whose `listen` opens a port of the simulated network. */
  #createExpress() {
    const app = express();
    app.set("env", "production");
    app.listen = ((port: number, onListening?: () => void) => {
      this.listeners.set(port, (message) => inject(app as never, message));
      onListening?.();
    }) as unknown as typeof app.listen;
    return app;
  }

  #createFastify() {
    const app = fastify();
    app.listen = (async ({ port }: { port: number }) => {
      await app.ready();
      this.listeners.set(port, (message) => inject(app.routing as never, message));
    }) as unknown as typeof app.listen;
    return app;
  }
}

async function inject(app: Parameters<typeof lightMyRequest>[0], message: Message): Promise<Reply> {
  const { host, pathname, search } = new URL(message.url);
  const { statusCode, headers, payload } = await lightMyRequest(app, {
    method: message.method as "POST",
    url: pathname + search,
    headers: { ...message.headers, host },
    payload: message.body,
  });
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return { status: statusCode, headers: Object.fromEntries(texts), body: payload };
}
