/** Changes that the program or a person makes to an entry: correct, resolve, retry. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { Job, Jobs } from "@loyalty-cards/internal/jobs/jobs";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import { invalid, type OutboxEntryError, requireCardId } from "./entry.ts";
import { maxRunningMs } from "./verdict.ts";

/**
 * What `correct` did. `accepted`: the new form is sent. `waiting`: the old one goes on; call it again when that is rejected. `unknown`:
 * nothing changes until `resolve`. `issued`: there is a card. `absent`: there is no entry.
 */
export type CorrectionResult = "accepted" | "waiting" | "unknown" | "issued" | "absent";

type Steps = IssuingSteps<unknown>;

/**
 * Replaces the form of an entry that was never sent, or that the service rejected.
 * @param body undefined sends the old form again.
 */
export function* correctEntry(
  jobs: Jobs,
  steps: Steps,
  job: Job,
  body: string | undefined,
): Operation<CorrectionResult> {
  if (job.state === "issued" || job.state === "unknown") return job.state;
  if (job.state === "waiting") {
    if (job.startedAtMs !== undefined || job.lease !== undefined) return "waiting";
    if (body !== job.body) yield* beginAnew(jobs, steps, job, body);
    return "accepted";
  }
  // An older request without a response may still issue a card, so the old form goes on when that request has ended.
  const runningMs = job.lostAtMs === undefined ? 0 : job.lostAtMs + maxRunningMs - (yield* jobs.getNow());
  if (runningMs > 0) {
    const { startedAtMs = job.lostAtMs } = job;
    yield* jobs.restart({ ...job, body: requireBody(job), startedAtMs }, runningMs);
    return "waiting";
  }
  yield* beginAnew(jobs, steps, job, body);
  return "accepted";
}

/** Sends a form as if there were no earlier attempt. @param body default: the old form. */
export function* beginAnew(jobs: Jobs, steps: Steps, job: Job, body = requireBody(job)): Operation<void> {
  const code = (job.error as OutboxEntryError | undefined)?.code;
  // The service may repeat a 422 for the same key, and a 409 that does not end.
  const isKeyUsed = code === (job.state === "unknown" ? "conflict" : "validation");
  yield* jobs.restart({ ...job, body, startedAtMs: undefined, ...(isKeyUsed && getNextKey(job, steps)) });
}

/** @throws {TypeError} for an entry in another state. */
export function requireUnknown(job: Job): Job {
  if (job.state === "unknown") return job;
  throw invalid(`resolve is for entries that are unknown; this one is ${job.state}.`);
}

/** Makes an entry due now. A form that was rejected is sent again, because the template may have changed. */
export function* retryEntry(jobs: Jobs, steps: Steps, job: Job): Operation<void> {
  if (job.state === "unknown")
    throw invalid(
      "A card may exist for this entry, so another request could issue a second one: look for the card in the service's console, and use resolve.",
    );
  if (job.state === "rejected") yield* correctEntry(jobs, steps, job, undefined);
  else yield* jobs.hurry(job.id);
}

/** What a person found out about an entry that is `unknown`. */
export type Resolution = { cardId: string; noCard?: never } | { noCard: true; cardId?: never };

/** @throws {TypeError} for a value that has not exactly one of a valid `cardId` and `noCard: true`. */
export function requireResolution(resolution: Resolution): void {
  const { cardId, noCard } = resolution ?? {};
  if ((cardId === undefined) !== (noCard === true))
    throw invalid("resolve needs { cardId } or { noCard: true }, and not both.");
  if (cardId !== undefined) requireCardId(cardId);
}

function requireBody({ body, state }: Job): string {
  if (body !== undefined) return body;
  throw invalid(
    `The form of this entry was erased after the retention: use ${state === "unknown" ? "forget, and add the user again" : "correct with a new form"}.`,
  );
}

/** The next suffix, and its key. They are the same in a restored copy of the database. */
function getNextKey({ topic, name, suffix }: Job, steps: Steps): { key: string; suffix: string } {
  const [, base = suffix, number = "1"] = /^(.*)~(\d+)$/s.exec(suffix) ?? [];
  const keySuffix = `${base}~${Number(number) + 1}`;
  return { suffix: keySuffix, key: steps.deriveKey({ templateId: topic, userId: name, keySuffix }) };
}
