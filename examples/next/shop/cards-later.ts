/** Issues the cards that could not be issued at sign-up. */
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { changed } from "./changes";
import { inTransaction } from "./database";
import { issueCardTo } from "./issue-card";
import { type Member, memberColumns, neverMs } from "./members";
import { oncePerProcess } from "./once-per-process";

const pollIntervalMs = 1_000;
const maxDelayMs = 300_000;

export function issueCardsLater(): void {
  oncePerProcess("cards-later", () => void poll());
}

async function poll(): Promise<void> {
  await issueDueCards(Date.now()).catch((error) =>
    console.error("The pending cards could not be read:", error),
  );
  setTimeout(poll, pollIntervalMs).unref();
}

/** Issues the cards whose next attempt is due. */
export async function issueDueCards(nowMs: number): Promise<void> {
  const members = await inTransaction((query) =>
    query<Member>(
      `SELECT ${memberColumns}
       FROM cards_to_issue JOIN members ON members.id = member_id WHERE next_attempt_at <= ? LIMIT 20`,
      nowMs,
    ),
  );
  for (const member of members) {
    try {
      await issueCardTo(member, 10_000);
    } catch (error) {
      await postpone(member.id, error);
    }
  }
}

/** Schedules another attempt, unless it cannot succeed or could issue a second card: then a person must act. */
export async function postpone(memberId: string, error: unknown): Promise<void> {
  const ends = isIssuingError(error) && ["validation", "idempotency-expired"].includes(error.code);
  if (ends || !isIssuingError(error) || !error.retryable)
    console.error(`No card for member ${memberId}:`, error);
  await inTransaction((query) => {
    const [{ failures } = { failures: 0 }] = query<{ failures: number }>(
      "SELECT failures FROM cards_to_issue WHERE member_id = ?",
      memberId,
    );
    const pauseMs = Math.min(maxDelayMs, 1_000 * 2 ** failures) * (0.5 + Math.random() / 2);
    query(
      "UPDATE cards_to_issue SET failures = failures + 1, next_attempt_at = ? WHERE member_id = ?",
      ends ? neverMs : Math.round(Date.now() + pauseMs),
      memberId,
    );
  });
  if (ends) changed(memberId);
}

/** Whether a person must act before the card can be issued. */
export async function isStuck(memberId: string): Promise<boolean> {
  const stuck = await inTransaction((query) =>
    query("SELECT 1 FROM cards_to_issue WHERE member_id = ? AND next_attempt_at = ?", memberId, neverMs),
  );
  return stuck.length > 0;
}
