/** How many retries all calls of a client may make together, so that an outage is not met with a storm. */
import type { Clock } from "./clock.ts";
import { retryPolicy } from "./retry-policy.ts";

export interface RetryBudget {
  /** Takes one retry out of the budget; false when there is none left. */
  take(): boolean;
  /** A call succeeded: the service is well, and one retry comes back. */
  giveBack(): void;
}

export function retryBudget(clock: Pick<Clock, "monotonicMs">): RetryBudget {
  const { budget, budgetRegainMs } = retryPolicy;
  let tokens: number = budget;
  let countedAtMs = clock.monotonicMs();

  /** Time gives back as well, for clients that call so seldom that no success would. */
  function regain(): void {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(budget, tokens + Math.max(0, nowMs - countedAtMs) / budgetRegainMs);
    countedAtMs = nowMs;
  }

  return {
    take() {
      regain();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    giveBack() {
      tokens = Math.min(budget, tokens + 1);
    },
  };
}
