/** `bullmqInbox`: a durable inbox on BullMQ, for a Redis that you already run. */

import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { toEventKey, toJobData, toJobId } from "./event.ts";
import { validateNumber, validateRetention } from "./options.ts";
import { createPut, createReport, type ReplayableInbox, type ReportOptions } from "./reports.ts";

interface BullmqJob {
  data: unknown;
  getState(): Promise<string>;
  updateData(data: object): Promise<void>;
  retry(state: "failed", options: object): Promise<unknown>;
}

/** The part of a `Queue` of BullMQ 5 or 6 that the inbox uses. */
interface BullmqQueue {
  readonly name: string;
  readonly opts: { connection?: unknown };
  add(name: string, data: object, options: object): Promise<unknown>;
  getJob(id: string): Promise<BullmqJob | undefined>;
  waitUntilReady(): Promise<unknown>;
}

/** How long events are remembered, and the number of attempts. */
export interface BullmqInboxOptions extends ReportOptions {
  /** The service or endpoint that sends the events. Default `""`. Events of two sources are never duplicates of each other. */
  source?: string;
  /** How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters are not deleted. */
  retentionSeconds?: number;
  /** After this many failures the event is a dead letter. Default 17, with pauses of 1, 2, 4, … seconds: more than nine hours. */
  maxAttempts?: number;
  /** How long to wait for Redis at the start, in milliseconds. Default 5 000. The receiver limits the time of each event. */
  timeoutMs?: number;
}

/** An inbox on BullMQ. */
export interface BullmqInbox extends Inbox, ReplayableInbox {}

/**
 * Waits for the queue's Redis, and returns an inbox.
 * @throws {TypeError} for a queue with an offline queue, and for a retention shorter than the service's retries.
 * @throws when Redis does not respond.
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
  const { maxAttempts = 17, timeoutMs = 5_000, source = "" } = options;
  validateNumber("maxAttempts", maxAttempts, 1);
  validateNumber("timeoutMs", timeoutMs, 1, maxTimerMs);
  const age = validateRetention(options.retentionSeconds);
  const report = createReport(options);
  checkConnection(queue);
  await waitForRedis(queue, timeoutMs);
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
      await queue.add(event.type, data, { ...jobOptions, jobId });
      const job = await queue.getJob(jobId);
      if (job === undefined)
        throw withSafeMessage(new Error("Redis accepted the event but does not have it."));
      if ((job.data as { copy?: string }).copy === copy) return "stored";
      return (await revive(job, data)) ? "stored" : "duplicate";
    }),
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

/** A client with an offline queue waits for Redis instead of failing, so the receiver could not respond in time. */
function checkConnection({ name, opts }: BullmqQueue): void {
  const connection = (opts.connection ?? {}) as { options?: object };
  const { enableOfflineQueue, disableOfflineQueue } = (connection.options ?? connection) as {
    enableOfflineQueue?: boolean;
    disableOfflineQueue?: boolean;
  };
  if (enableOfflineQueue === false || disableOfflineQueue === true) return;
  throw new TypeError(
    `The queue "${name}" waits while Redis is unreachable instead of failing. Create it with { connection: { …, enableOfflineQueue: false } }.`,
  );
}

/** BullMQ itself warns of a Redis that evicts keys. */
async function waitForRedis(queue: BullmqQueue, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    await Promise.race([queue.waitUntilReady(), late]);
  } catch (cause) {
    const message = `Redis cannot be used for the queue "${queue.name}": ${(cause as Error).message}`;
    throw new Error(message, { cause });
  } finally {
    clearTimeout(timer);
  }
}
