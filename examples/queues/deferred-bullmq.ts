/** Deferred issuing on Redis: a job of BullMQ repeats the call until the user has a card. */
// #region deferred-bullmq
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import { Queue, Worker } from "bullmq";
import { issueCardTo, issueWaitingCard, type User, type Users } from "./deferred.ts";

export function createSignUp(
  url: string,
  loyalty: IssuingClient,
  templateId: string,
  users: Users,
  { delaySeconds = 60, retrySeconds = 300, prefix = "bull" } = {},
) {
  const name = "issue-card";
  const queue = new Queue<{ userId: string }>(name, {
    prefix,
    connection: { url, enableOfflineQueue: false },
    defaultJobOptions: {
      delay: delaySeconds * 1_000,
      // 25 hours: after 24 hours the client refuses to call, and the user has a cardError.
      attempts: 90_000 / retrySeconds,
      backoff: { type: "fixed", delay: retrySeconds * 1_000 },
      removeOnComplete: true,
    },
  });
  const worker = new Worker<{ userId: string }>(
    name,
    ({ data }) => issueWaitingCard(loyalty, templateId, users, data.userId),
    { prefix, connection: { url }, concurrency: 20, maxStalledCount: 10 },
  );
  async function signUp(user: User) {
    await users.save(user);
    // Before the call, so that it survives a crash. When the call succeeds, the job finds the card and ends.
    await queue.add(name, { userId: user.id });
    return issueCardTo(loyalty, templateId, users, user);
  }
  return { signUp, queue, worker };
}
// #endregion
