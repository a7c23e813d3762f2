/** `bullmqInbox`: a durable inbox on BullMQ, for a Redis that you already run. */

import { createTypeError, withSafeMessage } from "@loyalty-cards/internal/errors";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { maxTimerMs, requireInteger } from "@loyalty-cards/internal/limits";
import { createInboxReport, type ReportOptions, reportOptionNames } from "./outcomes.ts";
import { createPut, type ReplayableInbox, requireEventId } from "./replayable-inbox.ts";
import {
  parseRetentionSeconds,
  requireSource,
  toEventKey,
  toJobData,
  toJobId,
} from "./stored-event.ts";
import { untilAborted } from "./until-aborted.ts";

interface BullmqJob {
  data: unknown;
  getState(): Promise<string>;
  updateData(data: object): Promise<void>;
  retry(state: "failed", options: object): Promise<unknown>;
}

/** The part of a `Queue` of BullMQ 5 or 6 that the inbox uses. */
interface BullmqQueue {
  readonly name: string;
  add(name: string, data: object, options: object): Promise<unknown>;
  getJob(id: string): Promise<BullmqJob | undefined>;
  waitUntilReady(): Promise<unknown>;
}

/** How long events are remembered, and the number of attempts. */
export interface BullmqInboxOptions extends ReportOptions {
  /**
   * The service that sends the events, or the endpoint that receives them. Default `""`. Events of
   * two sources are never duplicates of each other.
   */
  source?: string;
  /**
   * How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters
   * are not deleted.
   */
  retentionSeconds?: number;
  /**
   * After this many failures the event is a dead letter. Default 17, with pauses of 1, 2, 4, …
   * seconds: more than nine hours.
   */
  maxAttempts?: number;
  /**
   * How long to wait for Redis at the start, in milliseconds. Default 5 000. The receiver limits
   * the time of each event.
   */
  timeoutMs?: number;
}

const optionNames = {
  source: true,
  retentionSeconds: true,
  maxAttempts: true,
  timeoutMs: true,
  ...reportOptionNames,
} satisfies OptionNames<BullmqInboxOptions>;

/**
 * Waits for the queue's Redis, and returns an inbox. Create the queue with
 * `enableOfflineQueue: false`: then the receiver responds 503 at once while Redis is unreachable,
 * and else after the receiver's own timeout.
 * @throws {TypeError} for a retention shorter than the service's retries.
 * @throws when Redis does not respond.
 * @example
 * ```ts
 * import { bullmqInbox, inboxHandler } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { Queue, Worker } from "bullmq";
 *
 * const connection = { url: process.env.REDIS_URL ?? "" };
 * const queue = new Queue("loyalty", { connection: { ...connection, enableOfflineQueue: false } });
 * const inbox = await bullmqInbox(queue);
 * const handler = onEvents({ ping: ({ id }) => console.log(id), otherTypes: () => {} });
 * const options = { connection, maxStalledCount: 10 };
 * export const worker = new Worker("loyalty", inboxHandler(handler), options);
 * const secret = () => process.env.LOYALTY_SIGNING_SECRET;
 * export const receive = fetchReceiver({ secret, inbox });
 * ```
 */
export async function bullmqInbox(
  queue: BullmqQueue,
  options: BullmqInboxOptions = {},
): Promise<ReplayableInbox> {
  if (typeof queue?.waitUntilReady !== "function")
    throw createTypeError(
      'bullmqInbox takes a Queue of BullMQ: bullmqInbox(new Queue("loyalty")).',
    );
  requireKnownNames("bullmqInbox", options, optionNames);
  const { maxAttempts = 17, timeoutMs = 5_000, source = "" } = options;
  requireSource(source);
  requireInteger("maxAttempts", maxAttempts, 1, Number.MAX_SAFE_INTEGER);
  requireInteger("timeoutMs", timeoutMs, 1, maxTimerMs);
  const age = parseRetentionSeconds(options.retentionSeconds);
  const report = createInboxReport(options);
  await untilAborted(AbortSignal.timeout(timeoutMs), () => queue.waitUntilReady()).catch(
    (cause: unknown) => {
      throw withSafeMessage(
        new Error(`Redis cannot be used for the queue "${queue.name}".`, { cause }),
      );
    },
  );
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
      // For a duplicate `add` returns the existing job: only the first delivery finds its own data
      // in it.
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
      requireEventId(eventId);
      const job = await queue.getJob(toJobId(toEventKey({ id: eventId }, source)));
      return job !== undefined && revive(job);
    },
  };
}

/**
 * Gives a dead letter all of its attempts again.
 * @returns false when the job is not dead, or another call was faster.
 */
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
