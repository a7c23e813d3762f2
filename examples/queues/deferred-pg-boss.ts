/** Deferred issuing on PostgreSQL: a job of pg-boss repeats the call until the user has a card. */
// #region deferred-pg-boss
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import type PgBoss from "pg-boss"; // pg-boss 12: import type { PgBoss } from "pg-boss"
import { issueCardTo, issueWaitingCard, type User, type Users } from "./deferred.ts";

export async function createSignUp(
  boss: PgBoss,
  loyalty: IssuingClient,
  templateId: string,
  users: Users,
  { delaySeconds = 60, retrySeconds = 300 } = {},
) {
  const name = "issue-card";
  // 25 hours: after 24 hours the client refuses to call, and the user has a cardError.
  await boss.createQueue(name, { name, retryLimit: 90_000 / retrySeconds, retryDelay: retrySeconds });
  await boss.work<{ userId: string }>(name, { batchSize: 20, pollingIntervalSeconds: 1 }, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => issueWaitingCard(loyalty, templateId, users, data.userId)));
  });
  return async function signUp(user: User) {
    await users.save(user);
    // Before the call, so that it survives a crash. When the call succeeds, the job finds the card and ends.
    await boss.send(name, { userId: user.id }, { startAfter: delaySeconds });
    return issueCardTo(loyalty, templateId, users, user);
  };
}
// #endregion
