/** How an event is stored in the file, and a dead letter stored anew. */
import { addJob, type NewJob } from "@loyalty-cards/internal/jobs/add";
import { deleteJob } from "@loyalty-cards/internal/jobs/erase";
import { lockJobs } from "@loyalty-cards/internal/jobs/read";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { parseStoredEvent } from "../event.ts";
import { tables } from "./tables.ts";

/**
 * Stores an event. A dead letter is stored anew, after all others.
 * @returns `other-content` for the id of a stored event with another body.
 */
export function* store(job: NewJob): Statements<"stored" | "duplicate" | "other-content"> {
  const known = yield* addJob(tables, job, 0);
  if (known === undefined) return "stored";
  if (known.state !== "dead") {
    const [stored] = yield* lockJobs(tables, job);
    return isSameBody(stored?.body, job.body) ? "duplicate" : "other-content";
  }
  yield* deleteJob(tables, known.id);
  yield* addJob(tables, job, 0);
  return "stored";
}

/** Returns true also when the stored event was erased or is damaged. */
function isSameBody(stored: string | undefined, arrived: string): boolean {
  const event = parseStoredEvent(stored);
  return event === undefined || event.body === parseStoredEvent(arrived)?.body;
}

/** @returns whether the event was a dead letter, and waits again. */
export function* replay(source: string, eventId: string): Statements<boolean> {
  const [job] = yield* lockJobs(tables, { name: eventId, topic: source });
  if (job?.state !== "dead" || job.body === undefined) return false;
  return (yield* store({ topic: source, name: eventId, key: "", body: job.body })) === "stored";
}
