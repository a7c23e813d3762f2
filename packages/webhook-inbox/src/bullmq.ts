/** `bullmqInbox`: a durable inbox on BullMQ, for a Redis that you already run. */

import { describeError, withSafeMessage } from "@loyalty-cards/internal/reporting";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { parseEvent, parseJobData, toJobData, toJobId } from "./event.ts";
import { defaultRetentionSeconds, validateNumber, validateRetention } from "./options.ts";
import {
  createPut,
  createReport,
  type InboxEntry,
  type InboxHealth,
  type InspectableInbox,
  type ReportOptions,
} from "./reports.ts";

interface BullMqJobLike {
  data: unknown;
  timestamp: number;
  attemptsMade: number;
  getState(): Promise<string>;
  updateData(data: object): Promise<void>;
  retry(state: "failed", options: object): Promise<unknown>;
}

/** The part of a `Queue` of BullMQ 5 or 6 that the inbox uses. */
export interface BullMqQueueLike {
  readonly name: string;
  readonly opts: { connection?: unknown; defaultJobOptions?: object };
  add(name: string, data: object, options: object): Promise<unknown>;
  getJob(id: string): Promise<BullMqJobLike | undefined>;
  getJobs(
    // biome-ignore lint/suspicious/noExplicitAny: BullMQ types the states as a union of its own, which may grow.
    states: any,
    start: number,
    end: number,
    isAscending: boolean,
  ): Promise<(BullMqJobLike | undefined)[]>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  getJobCounts(...states: any[]): Promise<Record<string, number>>;
  waitUntilReady(): Promise<unknown>;
  /** BullMQ 6 */
  getBackend?(): object;
  /** BullMQ 5 */
  readonly client?: Promise<object>;
}

export interface BullmqInboxOptions extends ReportOptions {
  /** How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters are not deleted. */
  retentionSeconds?: number;
  /** Attempts per event. Default 17, with pauses of 1, 2, 4, … seconds: more than nine hours. */
  attempts?: number;
  /** Time limit for Redis, at the start and for each event, in milliseconds. Default 5 000. */
  timeoutMs?: number;
}

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
  queue: BullMqQueueLike,
  options: BullmqInboxOptions = {},
): Promise<BullmqInbox> {
  const { attempts = 17, timeoutMs = 5_000, log = console.error } = options;
  validateNumber("attempts", attempts, 1);
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
  // Set on each job: these override the defaults of the queue and the worker.
  const jobOptions = {
    attempts,
    backoff: { type: "exponential", delay: 1_000, jitter: 0.5 },
    removeOnComplete: { age },
    removeOnFail: false,
  };

  return {
    put: createPut(report, async (event, { body, receivedAt }) => {
      const jobId = toJobId(event);
      // For a duplicate `add` returns the job that exists: the delivery whose data was stored is the first.
      const copy = crypto.randomUUID();
      const data = { ...toJobData(body, receivedAt), copy };
      const job = await withTimeout(
        timeoutMs,
        queue.add(event.type, data, { ...jobOptions, jobId }).then(() => queue.getJob(jobId)),
      );
      if (job === undefined)
        throw withSafeMessage(new Error("Redis accepted the event but does not have it."));
      if ((job.data as { copy?: string }).copy === copy) return "stored";
      return (await withTimeout(timeoutMs, revive(job, data))) ? "stored" : "duplicate";
    }),
    async health(): Promise<InboxHealth> {
      try {
        return await withTimeout(timeoutMs, readHealth(queue));
      } catch (error) {
        return { isReachable: false, waiting: 0, dead: 0, error: describeError(error, options) };
      }
    },
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
      const job = await queue.getJob(toJobId({ id: eventId }));
      return job !== undefined && revive(job);
    },
  };
}

/** Gives a dead letter all of its attempts again. @returns false when the job is not dead, or another call was faster. */
async function revive(job: BullMqJobLike, data?: object): Promise<boolean> {
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

function toEntries(job: BullMqJobLike | undefined, state: InboxEntry["state"]): InboxEntry[] {
  if (job === undefined) return []; // removed between two queries
  const { body, receivedAt } = parseJobData(job.data);
  const { id, type } = parseEvent(body);
  return [{ id, type, state, receivedAt: new Date(receivedAt), attempts: job.attemptsMade }];
}

async function readHealth(queue: BullMqQueueLike): Promise<InboxHealth> {
  const counts = await queue.getJobCounts(...jobStates.waiting, ...jobStates.dead);
  const waiting = jobStates.waiting.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const oldest = await Promise.all(jobStates.waiting.map((state) => queue.getJobs([state], 0, 0, true)));
  const timestamps = oldest.flat().flatMap((job) => job?.timestamp ?? []);
  const oldestWaitingMs =
    timestamps.length === 0 ? {} : { oldestWaitingMs: Date.now() - Math.min(...timestamps) };
  return { isReachable: true, waiting, dead: counts["failed"] ?? 0, ...oldestWaitingMs };
}

/** With an offline queue a client keeps what it cannot send, and the receiver cannot respond in time. */
function checkConnection({ name, opts }: BullMqQueueLike): void {
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
async function checkRedis(queue: BullMqQueueLike): Promise<string | undefined> {
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
