/** Hands events over to BullMQ: a Redis that you already run. */
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { eventOf } from "./body-text.ts";
import { placeOf } from "./failure.ts";
import type { InboxEntry, InboxHealth, InspectableInbox } from "./health.ts";
import { checkedJobData, jobData, readableJobId } from "./job.ts";
import { checkedNumber, longestTimerMs } from "./number-option.ts";
import { type ReportOptions, reporter } from "./outcome.ts";
import { reportingPut } from "./put-reporting.ts";
import { checkedRetention, defaultRetentionSeconds } from "./retention.ts";

interface BullJob {
  data: unknown;
  timestamp: number;
  attemptsMade: number;
  getState(): Promise<string>;
  updateData(data: object): Promise<void>;
  retry(state: "failed", options: object): Promise<unknown>;
}

/** What the inbox needs of a `Queue` of BullMQ 5 or 6. */
export interface BullQueue {
  readonly name: string;
  readonly opts: { connection?: unknown; defaultJobOptions?: object };
  add(name: string, data: object, options: object): Promise<unknown>;
  getJob(id: string): Promise<BullJob | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: BullMQ names the states in a union of its own, which may grow.
  getJobs(states: any, start: number, end: number, isAscending: boolean): Promise<(BullJob | undefined)[]>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  getJobCounts(...states: any[]): Promise<Record<string, number>>;
  waitUntilReady(): Promise<unknown>;
  /** BullMQ 6 */
  getBackend?(): object;
  /** BullMQ 5 */
  readonly client?: Promise<object>;
}

export interface BullmqInboxOptions extends ReportOptions {
  /** How long handled events are remembered. Default 14 days, at least 8 h 37 min. Dead ones stay. */
  retentionSeconds?: number;
  /** How often an event is tried. Default 17, with pauses of 1, 2, 4, … seconds: nine hours and more. */
  attempts?: number;
  /** How long Redis may take, at the start and for each event. Default 5 000. */
  timeoutMs?: number;
}

export interface BullmqInbox extends Inbox, InspectableInbox {}

/**
 * Checks the queue and its Redis, and gives an inbox.
 * @throws {TypeError} for a queue that waits for a dead Redis, or forgets events too soon.
 * @throws when Redis does not answer, or evicts keys.
 * @example
 * ```ts
 * import { bullmqInbox, inboxHandler } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { Queue, Worker } from "bullmq";
 *
 * const url = process.env.REDIS_URL ?? "";
 * const inbox = await bullmqInbox(new Queue("loyalty", { connection: { url, enableOfflineQueue: false } }));
 * const handler = inboxHandler(onEvents({ ping: ({ id }) => console.log(id), other: () => {} }));
 * export const worker = new Worker("loyalty", handler, { connection: { url }, maxStalledCount: 10 });
 * export const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", inbox });
 * ```
 */
export async function bullmqInbox(queue: BullQueue, options: BullmqInboxOptions = {}): Promise<BullmqInbox> {
  const { attempts = 17, timeoutMs = 5_000, log = console.error } = options;
  checkedNumber("attempts", attempts, 1);
  checkedNumber("timeoutMs", timeoutMs, 1, longestTimerMs);
  const age = checkedRetention("retentionSeconds", options.retentionSeconds ?? defaultRetentionSeconds);
  const report = reporter(options);
  checkConnection(queue);
  const warning = await inTime(timeoutMs, checkedRedis(queue)).catch((cause) => {
    throw new Error(`Redis cannot be used for the queue "${queue.name}": ${(cause as Error).message}`, {
      cause,
    });
  });
  if (warning !== undefined) log(`webhook-inbox: ${warning}`);
  // Given with each job: these win over the queue's defaults and the worker's.
  const jobOptions = {
    attempts,
    backoff: { type: "exponential", delay: 1_000, jitter: 0.5 },
    removeOnComplete: { age },
    removeOnFail: false,
  };

  return {
    put: reportingPut(report, async (event, { body, receivedAt }) => {
      const jobId = readableJobId(event);
      // BullMQ answers a copy as it answers the first: whose data it kept tells which one this is.
      const copy = crypto.randomUUID();
      const data = { ...jobData(body, receivedAt), copy };
      const job = await inTime(
        timeoutMs,
        queue.add(event.type, data, { ...jobOptions, jobId }).then(() => queue.getJob(jobId)),
      );
      if (job === undefined) throw new Error("Redis took the event, and does not have it.");
      if ((job.data as { copy?: string }).copy === copy) return "stored";
      return (await inTime(timeoutMs, revive(job, data))) ? "stored" : "duplicate";
    }),
    async health(): Promise<InboxHealth> {
      try {
        return await inTime(timeoutMs, healthOf(queue));
      } catch (error) {
        return { isReachable: false, waiting: 0, dead: 0, fault: placeOf(error) };
      }
    },
    async list({ state, limit = 100 } = {}) {
      const states = state === undefined ? (Object.keys(statesOf) as InboxEntry["state"][]) : [state];
      const lists = states.map(async (each) =>
        (await queue.getJobs(statesOf[each], 0, limit - 1, true)).flatMap((job) => entryOf(job, each)),
      );
      const entries = (await Promise.all(lists)).flat();
      return entries
        .sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime())
        .slice(0, limit);
    },
    async replay(eventId) {
      const job = await queue.getJob(readableJobId({ id: eventId }));
      return job !== undefined && revive(job);
    },
  };
}

/** A dead letter waits again, with all of its attempts. @returns false when it is none, or another call was faster. */
async function revive(job: BullJob, data?: object): Promise<boolean> {
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

const statesOf = {
  waiting: ["active", "waiting", "prioritized", "delayed", "paused"],
  done: ["completed"],
  dead: ["failed"],
} satisfies Record<InboxEntry["state"], string[]>;

function entryOf(job: BullJob | undefined, state: InboxEntry["state"]): InboxEntry[] {
  if (job === undefined) return []; // removed between two questions
  const { body, receivedAt } = checkedJobData(job.data);
  const { id, type } = eventOf(body);
  return [{ id, type, state, receivedAt: new Date(receivedAt), attempts: job.attemptsMade }];
}

async function healthOf(queue: BullQueue): Promise<InboxHealth> {
  const counts = await queue.getJobCounts(...statesOf.waiting, ...statesOf.dead);
  const waiting = statesOf.waiting.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const oldest = await Promise.all(statesOf.waiting.map((state) => queue.getJobs([state], 0, 0, true)));
  const timestamps = oldest.flat().flatMap((job) => job?.timestamp ?? []);
  const oldestWaitingMs =
    timestamps.length === 0 ? {} : { oldestWaitingMs: Date.now() - Math.min(...timestamps) };
  return { isReachable: true, waiting, dead: counts["failed"] ?? 0, ...oldestWaitingMs };
}

/** With an offline queue a client keeps what it cannot send, and the service gets no answer in time. */
function checkConnection({ name, opts }: BullQueue): void {
  const connection = (opts.connection ?? {}) as { options?: object };
  const settings = (connection.options ?? connection) as {
    enableOfflineQueue?: boolean;
    disableOfflineQueue?: boolean;
  };
  if (settings.enableOfflineQueue !== false && settings.disableOfflineQueue !== true) {
    throw new TypeError(
      `The queue "${name}" waits for a Redis that is gone, instead of failing. Make it with { connection: { …, enableOfflineQueue: false } }.`,
    );
  }
}

/** @returns what is worth a warning. */
async function checkedRedis(queue: BullQueue): Promise<string | undefined> {
  await queue.waitUntilReady();
  const { client } = (queue.getBackend?.() ?? queue) as { client?: Promise<{ info?(): Promise<string> }> };
  const info = (await (await client)?.info?.()) ?? "";
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy?.startsWith("allkeys"))
    throw new Error(
      `its maxmemory-policy is ${policy}, which throws acknowledged events away. Set it to noeviction.`,
    );
  if (/^aof_enabled:0/m.test(info))
    return "this Redis keeps no append-only file, so a crash of Redis loses acknowledged events. Set appendonly yes.";
  return undefined;
}

async function inTime<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
