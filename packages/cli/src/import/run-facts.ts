/** What a run finds out while it sends: about its cards, and about the service. */
import { removeErrorLink } from "@loyalty-cards/internal/errors";
import type { IssuingError } from "@loyalty-cards/issuing-client";
import type { OutboxCounts, OutboxOutcome } from "@loyalty-cards/issuing-outbox";
import { endsRun } from "./run-error.ts";

/** What the last attempts say about the service. */
export interface ServiceState {
  /** Why the last attempt failed; undefined when it succeeded. */
  failure?: { status: number | undefined; message: string } | undefined;
  /** Since when the service fails all attempts; undefined when it does not. */
  outageSince?: Date | undefined;
  /** Whether no row is due: those that failed are tried again later. */
  isIdle?: boolean;
  /** When the last of the rows that failed in this run is tried again. */
  lastRetryAt?: Date | undefined;
}

export type RunFacts = ReturnType<typeof createRunFacts>;

export function createRunFacts() {
  let differing = 0;
  let hasSent = false;
  let service: Readonly<ServiceState> = {};
  return {
    /** How many issued cards have other field values than those sent. */
    getDiffering: () => differing,
    addDiffering(): void {
      differing++;
    },
    /** Whether an attempt did not end with an error that ends the run. */
    hasSent: () => hasSent,
    getService: () => service,
    addOutcome(outcome: OutboxOutcome): void {
      if ("attempts" in outcome && !endsRun(outcome)) hasSent = true;
      service = { ...service, ...toServiceState(outcome, service) };
    },
    /** @param round 0 for the first one. */
    startRound(round: number, { paused: [outage] }: OutboxCounts): void {
      const { lastRetryAt } = service;
      const isOver = Number(lastRetryAt) < Date.now();
      service = {
        ...service,
        outageSince: outage?.since,
        isIdle: round > 0,
        lastRetryAt: isOver ? undefined : lastRetryAt,
      };
    },
  };
}

/** What an outcome changes. */
function toServiceState(outcome: OutboxOutcome, { lastRetryAt }: ServiceState): ServiceState {
  switch (outcome.outcome) {
    case "paused":
      return { outageSince: new Date() };
    case "resumed":
      return { outageSince: undefined };
    case "issued":
    case "rejected":
    case "unknown":
      return { isIdle: false, failure: undefined };
    case "failed": {
      const { status, message } = outcome.error as IssuingError;
      const retryAtMs = Date.now() + outcome.retryInMs;
      return {
        isIdle: false,
        failure: { status, message: removeErrorLink(message) },
        lastRetryAt: new Date(Math.max(retryAtMs, Number(lastRetryAt ?? 0))),
      };
    }
    default:
      return {};
  }
}
