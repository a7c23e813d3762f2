/** Processes: an image with the globals of the simulation. A process can be killed between any two of its effects. */
import crypto from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import express from "express";
import fastify from "fastify";
import lightMyRequest, { type Response as InjectedResponse } from "light-my-request";
import { type Disk, SimulatedDatabase } from "./files.ts";
import { globalNames, type Image, type ProcessGlobals } from "./image.ts";
import type { Network } from "./network.ts";
import { startMs, type World } from "./world.ts";

/** A request as it travels. */
export interface Message {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type Listener = (message: Message) => Promise<Reply>;

/** A machine: its clock, its files, and the processes on it. */
export interface Machine {
  name: string;
  /** How far its clock is from the real time. */
  clockErrorMs: number;
  /** Increases when the machine starts again. */
  boot: number;
  isDiskFull: boolean;
  isFileLocked: boolean;
  databases: Set<SimulatedDatabase>;
}

/** Thrown inside a process that has ended: nothing that it still does has an effect. */
class Killed extends Error {}

const realRequire = createRequire(import.meta.url);
const RealDate = Date;
let lastProcessId = 100;

export function resetProcessIds(): void {
  lastProcessId = 100;
}

export class Process {
  readonly name: string;
  readonly machine: Machine;
  readonly pid = ++lastProcessId;
  isAlive = true;
  /** Ends the process at this number of effects from now: statements, requests and responses. */
  effectsToLive = Number.POSITIVE_INFINITY;
  readonly listeners = new Map<number, Listener>();
  readonly lines: string[] = [];
  /** How long each request of a visitor took. */
  readonly durationsMs: number[] = [];
  /** Set by programs of the simulation. */
  readonly handles: Record<string, unknown> = {};
  readonly #world: World;
  readonly #network: Network;
  readonly #startedAtMs: number;
  readonly #databases = new Set<SimulatedDatabase>();
  readonly #onEnd: (process: Process) => void;
  /** Until then the process is stopped: nothing of it runs. */
  #frozenUntilMs = 0;

  constructor(
    world: World,
    network: Network,
    { name, machine, onEnd }: { name: string; machine: Machine; onEnd: (process: Process) => void },
  ) {
    this.name = name;
    this.machine = machine;
    this.#world = world;
    this.#network = network;
    this.#startedAtMs = world.nowMs;
    this.#onEnd = onEnd;
  }

  start(image: Image, env: Record<string, string>): void {
    this.#world.log(this.name, `starts as process ${this.pid}`);
    image(this.#createGlobals(env)).catch((error: unknown) => {
      if (!this.isAlive || error instanceof Killed) return;
      this.lines.push(`uncaught: ${(error as Error)?.stack ?? error}`);
      this.end("crashes");
    });
  }

  /** Ends the process without a chance to do anything. */
  end(how = "is killed"): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#world.log(this.name, how);
    this.closeFiles();
    this.#onEnd(this);
  }

  closeFiles(): void {
    for (const database of this.#databases) {
      this.machine.databases.delete(database);
      database.abandon();
    }
    this.#databases.clear();
  }

  /** Stops the process, as SIGSTOP does; its clock goes on. */
  freeze(ms: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#world.nowMs + ms);
  }

  /** How long the process still does not run. */
  get frozenMs(): number {
    return Math.max(0, this.#frozenUntilMs - this.#world.nowMs);
  }

  /** An effect on the world is about to happen. @throws {Killed} when the process has ended, or ends here. */
  effect(): void {
    if (this.isAlive && --this.effectsToLive < 0) this.end("is killed between two effects");
    if (!this.isAlive) throw new Killed("The process has ended.");
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
            if (this.#frozenUntilMs < startedMs) this.durationsMs.push(this.#world.nowMs - startedMs);
            try {
              this.effect();
              resolve(reply);
            } catch {} // killed before the response was sent
          },
          (error) => this.isAlive && reject(error),
        );
      };
      run();
    });
  }

  #createGlobals(env: Record<string, string>): ProcessGlobals {
    const world = this.#world;
    const random = world.random(`${this.name} ${this.pid}`);
    const { machine } = this;
    const now = () => startMs + Math.round(world.nowMs) + machine.clockErrorMs;
    const monotonic = () => world.nowMs - this.#startedAtMs;

    class SimulatedDate extends RealDate {
      constructor(...values: unknown[]) {
        super(...((values.length === 0 ? [now()] : values) as [number]));
      }
      static override now = now;
      static override [Symbol.hasInstance](value: unknown): boolean {
        return value instanceof RealDate;
      }
    }

    const startTimer = (delayMs: number, run: () => void, repeat: boolean) => {
      let cancel = () => {};
      const fire = () => {
        if (!this.isAlive) return;
        if (this.frozenMs > 0) cancel = world.after(this.frozenMs, fire);
        else {
          if (repeat) cancel = world.after(Math.max(1, delayMs), fire);
          run();
        }
      };
      if (this.isAlive) cancel = world.after(delayMs, fire);
      const timer = { cancel: () => cancel(), unref: () => timer, ref: () => timer, hasRef: () => false };
      return timer;
    };
    const toTimer =
      (repeat: boolean) =>
      (run: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) =>
        startTimer(Math.max(1, ms), () => run(...values), repeat);
    const clear = (timer?: { cancel(): void }) => timer?.cancel();

    const randomBytes = (length: number) => Buffer.from(random.bytes(length));
    const randomUUID = () => {
      const bytes = randomBytes(16);
      bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
      bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
      return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    };
    // Web Crypto responds from threads, at any time: here the same results come in the same turn.
    const webCrypto = {
      randomUUID,
      getRandomValues(bytes: Uint8Array) {
        bytes.set(randomBytes(bytes.length));
        return bytes;
      },
      subtle: {
        digest: async (name: string, bytes: Uint8Array) =>
          toArrayBuffer(crypto.createHash(name.replace("-", "")).update(bytes).digest()),
        importKey: async (_format: string, key: Uint8Array) => ({ key }),
        sign: async (_name: unknown, { key }: { key: Uint8Array }, bytes: Uint8Array) =>
          toArrayBuffer(crypto.createHmac("sha256", key).update(bytes).digest()),
        verify: async (
          _name: unknown,
          { key }: { key: Uint8Array },
          signature: Uint8Array,
          bytes: Uint8Array,
        ) => crypto.createHmac("sha256", key).update(bytes).digest().equals(Buffer.from(signature)),
      },
    };
    const write = (...values: unknown[]) =>
      void (this.isAlive && this.lines.push(values.map(String).join(" ")));
    const simulatedProcess = {
      env,
      pid: this.pid,
      platform: "linux",
      versions: {}, // not Node.js: the client then sends with fetch
      geteuid: () => 1000,
      kill: (pid: number) => {
        if (!this.#network.isRunning(machine, pid))
          throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
      },
      on: () => simulatedProcess,
      once: () => simulatedProcess,
      emitWarning: write,
      cwd: () => "/",
      getBuiltinModule: (name: string) =>
        name === "node:sqlite"
          ? { DatabaseSync: this.#createDatabaseClass() }
          : this.#require(name, { randomBytes, randomUUID }),
    };
    const globals = {
      process: simulatedProcess,
      console: { log: write, info: write, warn: write, error: write, debug: write },
      Date: SimulatedDate,
      Math: Object.create(Math, { random: { value: () => random() } }),
      performance: { now: monotonic, timeOrigin: startMs + this.#startedAtMs },
      crypto: webCrypto,
      fetch: (input: string | Request, init?: RequestInit) => this.#network.fetch(this, input, init),
      setTimeout: toTimer(false),
      setInterval: toTimer(true),
      setImmediate: (run: (...values: unknown[]) => void, ...values: unknown[]) =>
        startTimer(0, () => run(...values), false),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
      require: (name: string) => this.#require(name, { randomBytes, randomUUID }),
      simulation: {
        listen: (port: number, listener: Listener) => this.listeners.set(port, listener),
        handles: this.handles,
      },
    };
    const shared = Object.create(globalThis, Object.getOwnPropertyDescriptors(globals));
    return Object.fromEntries(
      globalNames.map((name) => [name, name === "globalThis" ? shared : globals[name]]),
    ) as ProcessGlobals;
  }

  #require(name: string, random: object): unknown {
    const { machine } = this;
    switch (name.replace("node:", "")) {
      case "express":
        return Object.assign(() => this.#createExpress(), express);
      case "fastify":
        return () => this.#createFastify();
      case "libsql":
        return this.#createDatabaseClass();
      case "module":
        return { createRequire: () => (other: string) => this.#require(other, random) };
      case "crypto":
        return { ...crypto, ...random };
      case "fs":
        return {
          ...fs,
          readlinkSync: (path: string) => `${machine.name} ${path}`,
          readFileSync: (path: string, ...options: []) => {
            if (typeof path !== "string" || !path.startsWith("/proc/"))
              return fs.readFileSync(path, ...options);
            if (path.endsWith("boot_id")) return `${machine.name}-${machine.boot}`;
            const pid = Number(path.split("/")[2]);
            if (!this.#network.isRunning(machine, pid))
              throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
            return `${pid} (node) S ${"0 ".repeat(18)}${pid}`;
          },
        };
      default:
        return realRequire(name);
    }
  }

  #createDatabaseClass() {
    const owner = this;
    const disk: Disk = {
      step: () => this.effect(),
      isFull: () => this.machine.isDiskFull,
      isLocked: () => this.machine.isFileLocked,
      onCommit: () => this.#world.log(this.name, "commits"),
    };
    return class extends SimulatedDatabase {
      constructor(file: string) {
        owner.effect();
        super(file, disk);
        owner.#databases.add(this);
        owner.machine.databases.add(this);
      }
      override close(): void {
        owner.#databases.delete(this);
        owner.machine.databases.delete(this);
        super.close();
      }
    };
  }

  /** Express itself, whose `listen` opens a port of the simulated network. */
  #createExpress() {
    const app = express();
    app.set("env", "production");
    app.listen = ((port: number, onListening?: () => void) => {
      this.listeners.set(port, (message) => inject(app, message));
      onListening?.();
      return { close: () => this.listeners.delete(port) };
    }) as unknown as typeof app.listen;
    return app;
  }

  #createFastify() {
    const app = fastify();
    app.listen = (async ({ port }: { port: number }) => {
      await app.ready();
      this.listeners.set(port, async (message) => toReply(await app.inject(toInjected(message))));
      return `http://localhost:${port}`;
    }) as typeof app.listen;
    return app;
  }
}

const toArrayBuffer = (bytes: Buffer) => new Uint8Array(bytes).buffer;

const toInjected = ({ method, url, headers, body }: Message) => ({
  method: method as "POST",
  url: new URL(url).pathname + new URL(url).search,
  headers: { ...headers, host: new URL(url).host },
  payload: body,
});

const toReply = (response: InjectedResponse): Reply => ({
  status: response.statusCode,
  headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
  body: response.payload,
});

const inject = async (app: express.Express, message: Message) =>
  toReply(await lightMyRequest(app as never, toInjected(message)));
