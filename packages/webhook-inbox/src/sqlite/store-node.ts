/** How an event is stored in the file, and a dead letter stored anew. */
import { createHash } from "node:crypto";
import { addJob, type NewJob } from "@loyalty-cards/internal/jobs/add";
import { deleteJob } from "@loyalty-cards/internal/jobs/erase";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { lockJobs } from "@loyalty-cards/internal/jobs/tables";
import { tables } from "./tables.ts";

/** The key of an event: it identifies the content, also when the body is erased. */
export const digest = (body: Uint8Array): string =>
  createHash("sha256").update(body).digest("hex").slice(0, 16);

/**
 * Stores an event. A dead letter is stored anew, after all others.
 * @returns `other-content` for the id of a stored event with another content.
 */
export function* store(job: NewJob): Statements<"stored" | "duplicate" | "other-content"> {
  const known = yield* addJob(tables, job, 0);
  if (known === undefined) return "stored";
  if (known.state !== "dead") return known.key === job.key ? "duplicate" : "other-content";
  yield* deleteJob(tables, known.id);
  yield* addJob(tables, job, 0);
  return "stored";
}

/** @returns whether the event was a dead letter, and waits again. */
export function* replay(source: string, eventId: string): Statements<boolean> {
  const [job] = yield* lockJobs(tables, { name: eventId, topic: source });
  if (job?.state !== "dead" || job.body === undefined) return false;
  const { key, body } = job;
  return (yield* store({ topic: source, name: eventId, key, body })) === "stored";
}
