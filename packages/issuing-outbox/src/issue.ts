/** `issue`: issues the card of one entry now, for a visitor who waits. */
import type { Card } from "@loyalty-cards/issuing-client";
import { invalid } from "./add.ts";
import { findEntry, type UserRef } from "./changes.ts";
import type { OutboxDatabase } from "./database.ts";
import type { OutboxEntry } from "./entry.ts";
import { readScopes } from "./pause.ts";
import { type EntryRow, toEntry } from "./rows.ts";
import type { Sender } from "./sender.ts";
import { getNow, type Operation } from "./statement.ts";

/** What the close of an outbox ends: the waits of `issue` at once, and its requests after the grace. */
export class Closing {
  readonly #requests = new AbortController();
  /** Not listeners of a signal: Node.js 20 warns of more than ten of them. */
  readonly waits = new Set<() => void>();
  hasBegun = false;

  /** Aborts the requests. */
  get signal(): AbortSignal {
    return this.#requests.signal;
  }

  begin(): void {
    this.hasBegun = true;
    for (const end of [...this.waits]) end();
  }

  abort(): void {
    this.#requests.abort(new Error("The outbox is closed."));
  }
}

interface IssueContext {
  database: OutboxDatabase;
  sender: Sender;
  closing: Closing;
  clock: { monotonicMs(): number; after(ms: number, wake: () => void): () => void };
}

/** How often to look for the result of another process. */
const pollMs = 100;

interface Situation {
  row: EntryRow;
  nowMs: number;
  /** When the pause ends and this entry may be tried. Undefined without a pause; infinite when waiting for it helps no visitor. */
  pausedUntilMs: number | undefined;
}

/** Tries until the card is issued or rejected, or the deadline has come. Only a pause that begins during the call is waited for. */
export async function issueNow(
  context: IssueContext,
  user: UserRef,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<OutboxEntry & { card?: Card }> {
  const { database, sender, clock, closing } = context;
  const endsAtMs = clock.monotonicMs() + deadlineMs;
  let isTried = false;
  for (;;) {
    signal?.throwIfAborted();
    const { row, nowMs, pausedUntilMs } = await database.read(readSituation(user));
    const leftMs = endsAtMs - clock.monotonicMs();
    if (row.state !== "waiting" || leftMs < 1 || closing.hasBegun) return toEntry(row);
    let running = row.lease === undefined ? undefined : sender.running.get(row.lease);
    const isDue = row.dueAtMs <= nowMs;
    // Another process has leased the entry, or sends another entry of the same contact.
    const isElsewhere = !isDue && (row.lease !== undefined || row.isBlocked);
    let waitMs = isElsewhere ? pollMs : 0;
    if (running !== undefined) waitMs = 0;
    else if (!isElsewhere && pausedUntilMs !== undefined)
      waitMs = isTried || pausedUntilMs <= nowMs ? pausedUntilMs - nowMs : Number.POSITIVE_INFINITY;
    else if (!isElsewhere && isTried) waitMs = row.dueAtMs - nowMs;
    if (waitMs > leftMs && !isElsewhere) return toEntry(row);
    if (waitMs > 0) {
      await within(context, Math.min(waitMs, leftMs), signal);
      continue;
    }
    if (running === undefined) {
      const result = await sender.lease(1, leftMs, row.id);
      if (result === "paused") return toEntry(row);
      const [leased] = result.leased;
      if (closing.hasBegun && leased !== undefined) {
        await sender.returnUnsent([leased]);
        return toEntry(row);
      }
      if (leased === undefined && pausedUntilMs !== undefined) return toEntry(row);
      running = leased && sender.run(leased, { deadlineMs: leftMs, signal: closing.signal });
    }
    isTried = true;
    // If nothing was leased, another transaction has locked the row.
    const result = await within(context, running ? leftMs : Math.min(pollMs, leftMs), signal, running);
    if (result?.card !== undefined) return { ...(await readEntry(database, user)), card: result.card };
  }
}

function* readSituation(user: UserRef): Operation<Situation> {
  const row = yield* findEntry(user);
  if (row === undefined) {
    throw invalid(
      "outbox.issue found no committed entry of this user: call outbox.add in the transaction that saves the user, and outbox.issue after its commit.",
    );
  }
  const scopes = yield* readScopes();
  const scope = ["", row.template]
    .map((template) => scopes.find((each) => each.template === template))
    .find((each) => each?.reason !== undefined);
  const nowMs = yield* getNow();
  if (scope === undefined) return { row, nowMs, pausedUntilMs: undefined };
  const { probe, template, untilMs = Number.POSITIVE_INFINITY } = scope;
  // When the pause is over, this entry may be tried: `lease` decides. A template does not come back while a visitor waits.
  const isHopeless = untilMs > nowMs && (probe !== row.id || template !== "");
  return { row, nowMs, pausedUntilMs: isHopeless ? Number.POSITIVE_INFINITY : untilMs };
}

async function readEntry(database: OutboxDatabase, user: UserRef): Promise<OutboxEntry> {
  return toEntry((await database.read(readSituation(user))).row);
}

/** Waits for the work, at most `ms`. @returns undefined when the time is over, or the outbox is closed. @throws the reason of the signal. */
function within<Result>(
  { clock, closing }: IssueContext,
  ms: number,
  signal: AbortSignal | undefined,
  work?: Promise<Result>,
): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => end(() => reject(signal?.reason));
    const stop = () => end(() => resolve(undefined));
    const cancel = clock.after(ms, stop);
    const end = (settle: () => void) => {
      cancel();
      signal?.removeEventListener("abort", abort);
      closing.waits.delete(stop);
      settle();
    };
    signal?.addEventListener("abort", abort, { once: true });
    closing.waits.add(stop);
    work?.then(
      (result) => end(() => resolve(result)),
      (error) => end(() => reject(error)),
    );
    if (signal?.aborted) abort(); // while the entry was leased
  });
}
