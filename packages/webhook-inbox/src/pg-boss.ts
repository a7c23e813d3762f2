/**
 * `pgBossInbox`: a durable inbox on pg-boss 11 (Node.js 22) or 12 (Node.js 22.12), for a PostgreSQL
 * that you already run.
 */
import { createHash } from "node:crypto";
import { createTypeError, withSafeMessage } from "@loyalty-cards/internal/errors";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { requireInteger } from "@loyalty-cards/internal/limits";
import { createInboxReport, type ReportOptions, reportOptionNames } from "./outcomes.ts";
import { createPut, type ReplayableInbox, requireEventId } from "./replayable-inbox.ts";
import {
  maxColumn,
  parseRetentionSeconds,
  requireSource,
  toEventKey,
  toJobData,
} from "./stored-event.ts";

/** The methods of a started `PgBoss` of version 11 or 12 that the inbox calls. */
interface PgBoss {
  send(queue: string, data: object, options: object): Promise<string | null>;
  getJobById(queue: string, id: string): Promise<Job | null>;
  getQueue(name: string): Promise<unknown>;
  /** Absent where an object of your own wraps `PgBoss`. */
  listenerCount?(event: "error"): number;
  on?(event: "error", listener: (error: unknown) => void): unknown;
}

interface Job {
  data: object;
  state: string;
}

/** The queue, how long events are remembered, and the number of attempts. */
export interface PgBossInboxOptions extends ReportOptions {
  /** A queue for events only, created before with the policy `standard`. */
  queue: string;
  /**
   * The service that sends the events, or the endpoint that receives them. Default `""`. Events of
   * two sources are never duplicates of each other.
   */
  source?: string;
  /**
   * How long events are remembered, processed or not. After a replay, this still counts from the
   * first time that all attempts had failed. Default 14 days, at least 8 h 37 min.
   */
  retentionSeconds?: number;
  /**
   * After this many failures the event is a dead letter. Default 21, with pauses of 1, 2, 4, …
   * seconds, at most an hour: more than eight hours.
   */
  maxAttempts?: number;
}

const optionNames = {
  queue: true,
  source: true,
  retentionSeconds: true,
  maxAttempts: true,
  ...reportOptionNames,
} satisfies OptionNames<PgBossInboxOptions>;

/**
 * Checks the queue, and returns an inbox. `boss` must have been started. Its `error` events are
 * reported as `unavailable` if it has no listener for them.
 * @throws {TypeError} for a retention shorter than the service's retries, for a queue that could
 * merge two events, and for pg-boss 10.
 * @throws when pg-boss cannot be reached, or does not have the queue.
 * @example
 * ```ts
 * import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { PgBoss } from "pg-boss"; // with pg-boss 11: import PgBoss from "pg-boss"
 *
 * const boss = new PgBoss(process.env.DATABASE_URL ?? "");
 * await boss.start();
 * await boss.createQueue("loyalty");
 * const inbox = await pgBossInbox(boss, { queue: "loyalty" });
 * const handler = onEvents({ ping: ({ id }) => console.log(id), otherTypes: () => {} });
 * await boss.work("loyalty", inboxHandler(handler));
 * const secret = () => process.env.LOYALTY_SIGNING_SECRET;
 * export const receive = fetchReceiver({ secret, inbox });
 * ```
 */
export async function pgBossInbox(
  boss: PgBoss,
  options: PgBossInboxOptions,
): Promise<ReplayableInbox> {
  if (typeof boss?.getQueue !== "function")
    throw createTypeError(
      'pgBossInbox takes a PgBoss: pgBossInbox(boss, { queue: "loyalty" }), after await boss.start().',
    );
  requireKnownNames("pgBossInbox", options, optionNames);
  const { queue, source = "", maxAttempts = 21 } = options;
  requireSource(source);
  requireInteger("maxAttempts", maxAttempts, 1, maxColumn);
  const retentionSeconds = parseRetentionSeconds(options.retentionSeconds);
  const report = createInboxReport(options);
  // Without a listener, an `error` event of pg-boss, such as for a closed connection, ends the
  // process.
  if (boss.listenerCount?.("error") === 0)
    boss.on?.("error", (error) => report({ outcome: "unavailable", error }));
  await checkQueue(boss, queue);
  const retry = {
    retryLimit: maxAttempts - 1,
    retryDelay: 1,
    retryDelayMax: 3_600,
    retryBackoff: true,
  };
  const retention = { retentionSeconds, deleteAfterSeconds: retentionSeconds };
  /** @returns whether there was no job with the id. */
  const add = async (id: string, data: object): Promise<boolean> => {
    const { retryLimit } = retry;
    const job = await boss.send(queue, { ...data, retryLimit }, { id, ...retry, ...retention });
    return job !== null;
  };

  // pg-boss itself gives a dead letter one more attempt only. So a dead letter stays as it is, and
  // the event gets another job, whose id follows from that of the dead letter: of concurrent calls
  // one adds it. The jobs of an event are a chain, and only its last one can be alive.
  async function store(firstId: string, data: object): Promise<"stored" | "duplicate"> {
    let id = firstId;
    while (!(await add(id, data))) {
      const job = await boss.getJobById(queue, id);
      if (job === null)
        throw withSafeMessage(
          new Error(`pg-boss did not store the event: does the queue "${queue}" still exist?`),
        );
      if (!isDead(job)) return "duplicate";
      id = toNextId(id);
    }
    return "stored";
  }

  async function replay(firstId: string): Promise<boolean> {
    let id = firstId;
    let deadLetter: Job | undefined;
    for (;;) {
      const job = await boss.getJobById(queue, id);
      if (job === null) return deadLetter !== undefined && add(id, deadLetter.data);
      if (!isDead(job)) return false;
      deadLetter = job;
      id = toNextId(id);
    }
  }

  return {
    put: createPut(report, async (event, { body, receivedAt }) =>
      store(toUuid(toEventKey(event, source)), toJobData(body, receivedAt, source)),
    ),
    async replay(eventId) {
      requireEventId(eventId);
      return replay(toUuid(toEventKey({ id: eventId }, source)));
    },
  };
}

/** The id of the job that follows a dead letter. */
const toNextId = (id: string): string => toUuid(id);

const isDead = ({ state }: Job) => state === "failed" || state === "cancelled";

async function checkQueue(boss: PgBoss, queue: string): Promise<void> {
  const found = await boss.getQueue(queue).catch((cause: unknown) => {
    const message =
      "pg-boss does not respond. Is it started (await boss.start()), and PostgreSQL reachable?";
    throw withSafeMessage(new Error(message, { cause }));
  });
  if (typeof found !== "object" || found === null)
    throw withSafeMessage(
      new Error(
        `pg-boss has no queue "${queue}". Create it first: await boss.createQueue("${queue}").`,
      ),
    );
  if (!("deleteAfterSeconds" in found))
    throw createTypeError(
      "pgBossInbox needs pg-boss 11 (Node.js 22) or 12 (Node.js 22.12). This one is older.",
    );
  const { policy } = found as { policy?: unknown };
  if (policy === undefined || policy === null || policy === "standard") return;
  throw createTypeError(
    `The queue "${queue}" has the policy "${String(policy)}", under which pg-boss drops jobs that are not duplicates. Events need "standard".`,
  );
}

/** The namespace of our UUIDs (RFC 9562, section 6.6): arbitrary, but it must never change. */
const namespace = Buffer.from("6f1c1c2e5d0b4a579c391d5f6a0e8b42", "hex");

/** The version 5 UUID of an event: the same for every duplicate. */
export function toUuid(key: string): string {
  const digest = createHash("sha1").update(namespace).update(key, "utf8").digest().subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
