/** `bullmqInbox`: a durable inbox on BullMQ, for a Redis that you already run. */

import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { parseJobData, toEventKey, toJobData, toJobId } from "./event.ts";
import { defaultRetentionSeconds, validateNumber, validateRetention, validateSource } from "./options.ts";
import {
  createPut,
  createReport,
  type InboxEntry,
  type InspectableInbox,
  type ReportOptions,
  readHealth,
} from "./reports.ts";

interface BullmqJob {
  data: unknown;
  timestamp: number;
  attemptsMade: number;
  getState(): Promise<string>;
  updateData(data: object): Promise<void>;
  retry(state: "failed", options: object): Promise<unknown>;
}

/** The part of a `Queue` of BullMQ 5 or 6 that the inbox uses. */
interface BullmqQueue {
  readonly name: string;
  readonly opts: { connection?: unknown; defaultJobOptions?: object };
  add(name: string, data: object, options: object): Promise<unknown>;
  getJob(id: string): Promise<BullmqJob | undefined>;
  getJobs(
    // biome-ignore lint/suspicious/noExplicitAny: BullMQ types the states as a union of its own, which may grow.
    states: any,
    start: number,
    end: number,
    isAscending: boolean,
  ): Promise<(BullmqJob | undefined)[]>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  getJobCounts(...states: any[]): Promise<Record<string, number>>;
  waitUntilReady(): Promise<unknown>;
  /** BullMQ 6 */
  getBackend?(): object;
  /** BullMQ 5 */
  readonly client?: Promise<object>;
}

/** How long events are remembered, the number of attempts, and the time limit for Redis. */
export interface BullmqInboxOptions extends ReportOptions {
  /**
   * The service or endpoint that sends the events. Default `""`. Events of two sources are never duplicates of each other. `health` and
   * `list` describe the whole queue.
   */
  source?: string;
  /** How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters are not deleted. */
  retentionSeconds?: number;
  /** After this many failures the event is a dead letter. Default 17, with pauses of 1, 2, 4, … seconds: more than nine hours. */
  maxAttempts?: number;
  /** Time limit for Redis, at the start and for each event, in milliseconds. Default 5 000. */
  timeoutMs?: number;
}

/** An inbox on BullMQ. */
export interface BullmqInbox extends Inbox, InspectableInbox {}

/**
 * Checks the queue and its Redis, and returns an inbox.
 * @throws {TypeError} for a queue with an offline queue, and for a retention shorter than the service's retries.
 * @throws when Redis does not respond, or evicts keys.
 * @example
 * ```ts
 * import { bullmqInbox, inboxHandler } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { Queue, Worker } from "bullmq";
 *
 * const url = process.env.REDIS_URL ?? "";
 * const inbox = await bullmqInbox(new Queue("loyalty", { connection: { url, enableOfflineQueue: false } }));
 * const handler = inboxHandler(onEvents({ ping: ({ id }) => console.log(id), otherTypes: () => {} }));
 * export const worker = new Worker("loyalty", handler, { connection: { url }, maxStalledCount: 10 });
 * export const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", inbox });
 * ```
 */
export async function bullmqInbox(
  queue: BullmqQueue,
  options: BullmqInboxOptions = {},
): Promise<BullmqInbox> {
  const { maxAttempts = 17, timeoutMs = 5_000, source = "", log = console.error } = options;
  validateSource(source);
  validateNumber("maxAttempts", maxAttempts, 1);
  validateNumber("timeoutMs", timeoutMs, 1, maxTimerMs);
  const age = validateRetention("retentionSeconds", options.retentionSeconds ?? defaultRetentionSeconds);
  const report = createReport(options);
  checkConnection(queue);
  const warning = await withTimeout(timeoutMs, checkRedis(queue)).catch((cause) => {
    throw new Error(`Redis cannot be used for the queue "${queue.name}": ${(cause as Error).message}`, {
      cause,
    });
  });
  if (warning !== undefined) log(`webhook-inbox: ${warning}`);
  // Each job has these options, which override the defaults of the queue and the worker.
  const jobOptions = {
    attempts: maxAttempts,
    backoff: { type: "exponential", delay: 1_000, jitter: 0.5 },
    removeOnComplete: { age },
    removeOnFail: false,
  };

  return {
    put: createPut(report, async (event, { body, receivedAt }) => {
      const jobId = toJobId(toEventKey(event, source));
      // For a duplicate `add` returns the existing job: only the first delivery finds its own data in it.
      const copy = crypto.randomUUID();
      const data = { ...toJobData(body, receivedAt, source), copy };
      const job = await withTimeout(
        timeoutMs,
        queue.add(event.type, data, { ...jobOptions, jobId }).then(() => queue.getJob(jobId)),
      );
      if (job === undefined)
        throw withSafeMessage(new Error("Redis accepted the event but does not have it."));
      if ((job.data as { copy?: string }).copy === copy) return "stored";
      return (await withTimeout(timeoutMs, revive(job, data))) ? "stored" : "duplicate";
    }),
    health: () => readHealth(options, () => withTimeout(timeoutMs, countJobs(queue))),
    async list({ state, limit = 100 } = {}) {
      const states = state === undefined ? (Object.keys(jobStates) as InboxEntry["state"][]) : [state];
      const lists = states.map(async (each) =>
        (await queue.getJobs(jobStates[each], 0, limit - 1, true)).flatMap((job) => toEntries(job, each)),
      );
      const entries = (await Promise.all(lists)).flat();
      return entries
        .sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime())
        .slice(0, limit);
    },
    async replay(eventId) {
      const job = await queue.getJob(toJobId(toEventKey({ id: eventId }, source)));
      return job !== undefined && revive(job);
    },
  };
}

/** Gives a dead letter all of its attempts again. @returns false when the job is not dead, or another call was faster. */
async function revive(job: BullmqJob, data?: object): Promise<boolean> {
  if ((await job.getState()) !== "failed") return false;
  if (data !== undefined) await job.updateData(data);
  try {
    await job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true });
    return true;
  } catch (error) {
    if ((await job.getState()) === "failed") throw error;
    return false;
  }
}

const jobStates = {
  waiting: ["active", "waiting", "prioritized", "delayed", "paused"],
  done: ["completed"],
  dead: ["failed"],
} satisfies Record<InboxEntry["state"], string[]>;

function toEntries(job: BullmqJob | undefined, state: InboxEntry["state"]): InboxEntry[] {
  if (job === undefined) return []; // removed between two queries
  const { event, receivedAt } = parseJobData(job.data);
  return [{ id: event.id, type: event.type, state, receivedAt, attempts: job.attemptsMade }];
}

async function countJobs(queue: BullmqQueue) {
  const counts = await queue.getJobCounts(...jobStates.waiting, ...jobStates.dead);
  const waiting = jobStates.waiting.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const oldest = await Promise.all(jobStates.waiting.map((state) => queue.getJobs([state], 0, 0, true)));
  const timestamps = oldest.flat().flatMap((job) => job?.timestamp ?? []);
  const oldestWaitingMs = timestamps.length === 0 ? undefined : Date.now() - Math.min(...timestamps);
  return { waiting, dead: counts["failed"] ?? 0, oldestWaitingMs };
}

/** A client with an offline queue waits for Redis instead of failing, so the receiver could not respond in time. */
function checkConnection({ name, opts }: BullmqQueue): void {
  const connection = (opts.connection ?? {}) as { options?: object };
  const settings = (connection.options ?? connection) as {
    enableOfflineQueue?: boolean;
    disableOfflineQueue?: boolean;
  };
  if (settings.enableOfflineQueue !== false && settings.disableOfflineQueue !== true) {
    throw new TypeError(
      `The queue "${name}" waits while Redis is unreachable instead of failing. Create it with { connection: { …, enableOfflineQueue: false } }.`,
    );
  }
}

/** @returns a warning. @throws when Redis evicts keys. */
async function checkRedis(queue: BullmqQueue): Promise<string | undefined> {
  await queue.waitUntilReady();
  const { client } = (queue.getBackend?.() ?? queue) as { client?: Promise<{ info?(): Promise<string> }> };
  const info = (await (await client)?.info?.()) ?? "";
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy?.startsWith("allkeys"))
    throw new Error(
      `its maxmemory-policy is ${policy}, which deletes acknowledged events. Set it to noeviction.`,
    );
  if (/^aof_enabled:0/m.test(info))
    return "this Redis has no append-only file, so a crash of Redis loses acknowledged events. Set appendonly yes.";
  return undefined;
}

async function withTimeout<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
