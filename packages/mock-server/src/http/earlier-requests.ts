/**
 * What became of earlier requests with the same idempotency key (spec 8), for the faults that match
 * it. `domain/issue-card` replays them.
 */
import type { Domain } from "../domain/context.ts";
import { findKeyRecord } from "../domain/issue-card.ts";
import type { Middleware } from "./app.ts";

/** Only a request that issues a card uses its key. */
export function trackEarlierRequests(domain: Domain): Middleware {
  /** The keys of the requests that are being processed. */
  const inProgress = new Set<string>();

  return async (c, next) => {
    const { entry } = c.var;
    const key = c.req.header("idempotency-key");
    if (key !== undefined) entry.idempotencyKey = key;
    if (key === undefined || entry.operation !== "issueCard") {
      c.set("earlier", { isInProgress: false });
      return next();
    }
    c.set("earlier", { isInProgress: inProgress.has(key), cardAgeMs: getCardAgeMs(domain, key) });
    if (inProgress.has(key)) return next();
    inProgress.add(key);
    try {
      await next();
    } finally {
      inProgress.delete(key);
    }
  };
}

/** How long ago a card was issued under the key. */
function getCardAgeMs(domain: Domain, key: string): number | undefined {
  const record = findKeyRecord(domain, key);
  return record?.cardId === undefined ? undefined : domain.nowMs() - record.atMs;
}
