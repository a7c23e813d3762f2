/** Bulk issuing: `issueCards` issues the cards of a list of any length, once each, and can be stopped and resumed. */
import { type IssuingClient, readBulkSettings } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { configurationError } from "../errors.ts";
import { parseId } from "../request.ts";
import type { FieldValues, Template } from "../template.ts";
import type { Checkpoint, FileCheckpoint } from "./checkpoint.ts";
import type { BulkProgress } from "./progress.ts";
import { type BulkResult, type BulkRow, toHash } from "./row.ts";
import { BulkRun } from "./run.ts";
import { Source } from "./source.ts";

export {
  type Checkpoint,
  type CheckpointCounts,
  CheckpointError,
  type CheckpointHeader,
  type CheckpointRecord,
  type CheckpointSession,
  type FileCheckpoint,
} from "./checkpoint.ts";
export type { BulkProgress } from "./progress.ts";
export type { BulkResult, BulkRow } from "./row.ts";

/** Options of {@link issueCards}. */
export interface BulkOptions<Fields = FieldValues> {
  /** The id of a template, or a template of `defineTemplate`. */
  template: string | Template<Fields>;
  /** Maximum number of requests at once. The run uses fewer when the service slows down. Default 32. */
  concurrency?: number | undefined;
  /** Maximum number of requests per second. Default: none; the run learns the limit of the service from its 429 responses. */
  maxPerSecond?: number | undefined;
  /** Where the run records what it did: `fileCheckpoint(file)`. Default: none, so that a run cannot be resumed. */
  checkpoint?: Checkpoint | undefined;
  /** Describes the source and how its columns are mapped: part of the checkpoint's header. With another description it is another run. */
  description?: string | undefined;
  /** Called every half second while requests are running, and at the end. */
  onProgress?: ((progress: BulkProgress) => void) | undefined;
  /** The number of rows, for the remaining time in `onProgress`. */
  total?: number | undefined;
  /** Stops the run: no more rows are read, running requests end and their results are yielded, then `signal.reason` is thrown. */
  signal?: AbortSignal | undefined;
  /** For tests. Default: the system's clock. */
  clock?: Clock | undefined;
  /** Random numbers from 0 to 1 for the jitter of pauses, for tests. Default: `Math.random`. */
  random?: (() => number) | undefined;
}

/**
 * Issues a card for each row of a list, of any length: it reads ahead at most sixteen times `concurrency` rows, and stops reading
 * while results are not consumed. Rows with the same phone, e-mail or key are sent one after another, in the order of the source; to
 * find them it keeps hashes, about 0.1 kB per row.
 *
 * A failure of the service never ends the run or costs a row its card: after 429, 5xx, timeouts, network failures and rising latency
 * fewer requests are sent; `Retry-After` and failures in a row pause the run. A row is sent again with the same key until it has failed
 * ten times while other rows succeeded, and is then `unknown`. A refused API key (401, 403) ends the run at once.
 *
 * With a checkpoint a run can be resumed, by calling the function again with the same source: rows are found by their key, in any
 * order. A card that was issued is `replayed`. A row that was sent without a known result is sent again with the same key; when that was
 * 24 hours ago it is `unknown` (`idempotency-expired`), and when the row has changed it is rejected (`idempotency-mismatch`). A row that
 * was rejected is sent again, also when it has changed, because no card was issued. If your service stores refusals under the
 * key (see the assumptions), add a `keySuffix` to the corrected row.
 * @param client a client of `createIssuingClient`. Its `timeoutMs` and `deadlineMs` limit each attempt; its `maxRetries` is not used.
 * @param source rows with a `request` and a `userId` or `idempotencyKey`: an array, a generator, a stream of objects.
 * @returns the results, one per row. Its first `next()` starts the run; `break` finishes running requests and closes the checkpoint.
 * @throws {IssuingError} `configuration` for invalid options; `unauthorized` or `forbidden` when the API key is refused.
 * @throws {CheckpointError} before anything is sent; `signal.reason`; what the source throws, after the rows before it have ended.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { fileCheckpoint, issueCards } from "@loyalty-cards/issuing-client/bulk";
 *
 * async function* readMembers() {
 *   const consents = { privacy: { version: "2026-01" } };
 *   yield { userId: 42, request: { fieldValues: { name: "Anna" }, customer: { phone: "+48600100200", consents } } };
 * }
 *
 * const results = issueCards(createIssuingClient(), readMembers(), {
 *   template: "tpl_coffee",
 *   checkpoint: fileCheckpoint("members.checkpoint"),
 *   onProgress: ({ issued, perSecond }) => console.log(issued, "cards,", perSecond, "per second"),
 * });
 * for await (const result of results) {
 *   if (result.status === "rejected") console.error(result.row.userId, result.error.message);
 * }
 * ```
 */
export function issueCards<Row extends BulkRow<NoInfer<Fields>>, Fields = FieldValues>(
  client: IssuingClient,
  source: Iterable<Row> | AsyncIterable<Row>,
  options: BulkOptions<Fields>,
): AsyncGenerator<BulkResult<Row>, void, undefined> {
  const { baseUrl, idempotencyNamespace } = readBulkSettings(client);
  const { description = "", checkpoint, total, onProgress, signal } = options ?? {};
  const { concurrency = 32, maxPerSecond = Number.POSITIVE_INFINITY } = options ?? {};
  const { clock = systemClock, random = Math.random } = options ?? {};
  const { template } = options ?? {};
  const { id, schema }: Template<unknown> =
    typeof template === "string" ? { id: template } : (template ?? {});
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw configurationError(`concurrency must be a whole number, 1 or more, not ${String(concurrency)}.`);
  if (typeof maxPerSecond !== "number" || !(maxPerSecond > 0))
    throw configurationError(`maxPerSecond must be a number above 0, not ${String(maxPerSecond)}.`);
  if (typeof description !== "string") throw configurationError("description must be a string.");
  const rows = new Source(source);
  const templateId = parseId("template id", id);

  const settings = {
    client,
    namespace: idempotencyNamespace,
    template: { id: templateId, ...(schema !== undefined && { schema }) },
    concurrency,
    maxPerSecond,
    total,
    onProgress,
    signal,
    clock,
    random,
  };
  const toHeader = async () => ({
    description: await toHash(description),
    template: await toHash(templateId),
    baseUrl: await toHash(baseUrl),
    namespace: await toHash(idempotencyNamespace),
  });

  async function* run(): AsyncGenerator<BulkResult<Row>, void, undefined> {
    signal?.throwIfAborted();
    const session = await checkpoint?.open(await toHeader());
    const bulkRun = new BulkRun<Row>(settings, session, rows);
    try {
      bulkRun.start();
      while (await bulkRun.waitForResult()) {
        for (let result = bulkRun.takeResult(); result !== undefined; result = bulkRun.takeResult())
          yield result;
      }
    } finally {
      await bulkRun.close();
    }
  }
  return run();
}

/**
 * Stores the checkpoint in a file, in Node.js, Deno or Bun. It has one line per record, without personal data (hashes, times and card
 * ids), and can be read by its owner only. It can be moved to another machine between two runs. A last line that a crash cut off is
 * removed. One run at a time can use it: `FILE.lock` says which process does, and the lock of a process that has ended is ignored.
 * @param file the path of the file; created when it does not exist.
 * @throws {CheckpointError} from `issueCards`: `unreadable`, `other-run` or `in-use`.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { fileCheckpoint, issueCards } from "@loyalty-cards/issuing-client/bulk";
 *
 * const consents = { privacy: { version: "2026-01" } };
 * const members = [{ userId: 42, request: { customer: { phone: "+48600100200", consents } } }];
 * const options = { template: "tpl_coffee", checkpoint: fileCheckpoint("members.checkpoint") };
 * for await (const { row, status } of issueCards(createIssuingClient(), members, options)) console.log(row.userId, status);
 * ```
 */
export function fileCheckpoint(file: string): FileCheckpoint {
  return {
    async open(header) {
      const { openFile } = await import("./node-checkpoint.ts");
      return openFile(file, header);
    },
    async count() {
      const { countRecords } = await import("./node-checkpoint.ts");
      return countRecords(file);
    },
  };
}
