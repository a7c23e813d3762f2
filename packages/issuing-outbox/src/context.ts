/**
 * What the methods of an outbox share: database, tables, client, callbacks, running attempts, and
 * until when it leases entries.
 */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { WorkerWatch } from "@loyalty-cards/internal/jobs/missing-worker";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import type { JobTables } from "@loyalty-cards/internal/jobs/tables";
import type { Worker } from "@loyalty-cards/internal/jobs/worker";
import type { Card } from "@loyalty-cards/issuing-client";
import type { OutboxEntry } from "./entry.ts";
import type { createFailureLog, Report } from "./outcomes.ts";

/** Runs statements. Each promise resolves after the commit. */
export interface OutboxDatabase {
  /** Runs statements, each of which may be a transaction of its own. */
  runEach<Result>(create: () => Statements<Result>): Promise<Result>;
  /**
   * Runs statements in a transaction.
   * @param create is called once for each time that the transaction is repeated.
   */
  transact<Result>(create: () => Statements<Result>): Promise<Result>;
  /**
   * Runs statements that record a result of a worker in a transaction: on SQLite, in one with those
   * of the same turn of the event loop.
   */
  transactInBatch<Result>(create: () => Statements<Result>): Promise<Result>;
  /**
   * Whether the error says that other transactions were in the way: then repeating the transaction
   * helps.
   */
  isRepeatable(error: unknown): boolean;
  /** Corrects what was stored while a clock was ahead. */
  correctTimes(): Promise<void>;
  /** Removes deleted data from the files. Called when nothing is due. */
  tidy(): void;
  close(): void;
}

/** A callback of the shop, and the option that it is. */
export interface ShopCallback {
  name: "onIssued" | "onRejected";
  call(entry: never, transaction: never): unknown;
}

/** What is recorded of an attempt that ended. */
export interface Recorded {
  /** Absent when nothing was recorded. */
  entry?: OutboxEntry;
  card?: Card;
  /** When the entry is tried again, unless its template is paused. */
  retryInMs?: number;
  /** Whether the entry had ended before, and its callback was repeated. */
  isRepeated?: boolean;
}

export interface OutboxContext {
  database: OutboxDatabase;
  tables: JobTables;
  client: IssuingSteps<Card>;
  report: Report;
  /** Logs a failure of the service, or of the client. */
  logFailure: ReturnType<typeof createFailureLog>;
  workerWatch: WorkerWatch;
  random: () => number;
  /** How long the forms of rejected and unknown entries are stored. */
  retentionMs: number;
  /** By the state of the entry. Where the option is not set, nothing is delivered. */
  callbacks: Readonly<Record<string, ShopCallback | undefined>>;
  /** Attempts of this process that have not ended, by the id of the job. */
  running: Map<number, Promise<Recorded>>;
  /** The workers of this process. */
  activeWorkers: Set<Worker>;
  lifecycle: Lifecycle;
}

type Listeners = Set<() => void>;

/** The phases of an outbox. A listener runs when its phase begins. */
interface Lifecycle {
  /**
   * `halted`: an option of the client is wrong, so this process leases nothing, and others do.
   * `closing`: `close` was called, and methods reject.
   */
  readonly phase: "open" | "halted" | "closing";
  /** They end workers, and the waits of `issue`. */
  readonly listeners: { readonly halted: Listeners; readonly closing: Listeners };
  /** Begins a phase. An outbox that is closing stays so. */
  enter(phase: "halted" | "closing"): void;
  /** Aborted at the end of the grace period of `close`: requests of `issue` are aborted. */
  readonly aborting: AbortSignal;
  abort(): void;
}

export function createLifecycle(): Lifecycle {
  const controller = new AbortController();
  // These are sets and not signals, because Node.js warns about a signal that has more than ten
  // listeners.
  const listeners = { halted: new Set<() => void>(), closing: new Set<() => void>() };
  const lifecycle = {
    phase: "open" as Lifecycle["phase"],
    listeners,
    enter(phase: "halted" | "closing"): void {
      if (lifecycle.phase === phase || lifecycle.phase === "closing") return;
      lifecycle.phase = phase;
      for (const end of [...listeners[phase]]) end();
    },
    aborting: controller.signal,
    abort: () => controller.abort(new Error("The outbox is closed.")),
  };
  return lifecycle;
}
