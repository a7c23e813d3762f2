/** What a row of the traffic says: one phrase for a request, an event, or an action. */

import { formatChange, formatNumber } from "@loyalty-cards/internal/format";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import { toWalletTitle } from "../domain/context.ts";
import type { Action, EventType, TrafficRequest } from "../domain/state.ts";

type LoggedFault = NonNullable<TrafficRequest["fault"]>;
type Tier = string | null;

/** @param result the parsed body of the response; undefined when there is none in JSON. */
export function describeRequest(
  { operation, reason, fault }: Pick<TrafficRequest, "operation" | "reason" | "fault">,
  result: unknown,
): string {
  if (fault !== undefined && fault.kind !== "latency") return describeFault(operation, fault);
  if (reason === "replay") return "same key: the first card again";
  const delay = fault === undefined ? "" : "injected delay";
  // A request with a reason failed: it has no result of its operation.
  const canDescribe = reason === undefined && operation !== undefined && result !== undefined;
  const done = canDescribe ? describeResult[operation](result as never) : reason;
  return [delay, done].filter(Boolean).join("; ");
}

const describeResult: Record<OperationId, (result: never) => string> = {
  issueCard: () => "new card",
  getCard: ({ loyaltyBalance, loyaltyTier }: { loyaltyBalance: number; loyaltyTier: Tier }) =>
    `${formatNumber(loyaltyBalance)} points${loyaltyTier === null ? "" : `, ${loyaltyTier}`}`,
  listOperations: ({ items }: { items: unknown[] }) =>
    `${items.length} ${items.length === 1 ? "operation" : "operations"}`,
  getConsent: ({ marketingConsent }: { marketingConsent: boolean }) =>
    marketingConsent ? "marketing given" : "marketing not given",
  setConsent: (result: { marketingConsent: boolean }) => describeConsent(result),
};

/** What the app saw of a request. Other faults have a status that the app saw. */
const lostResponses: Record<string, string> = {
  reset: "response lost",
  destroy: "response lost",
  hang: "response lost",
  truncate: "response cut",
};

/** What the service did although the app did not see it. */
const effects: Partial<Record<OperationId, string>> = {
  issueCard: "the card exists",
  setConsent: "the consent is stored",
};

function describeFault(operation: OperationId | undefined, { kind, phase }: LoggedFault): string {
  const seen = lostResponses[kind] ?? "injected fault";
  const effect = phase === "before" ? "nothing was done" : effects[operation as OperationId];
  return effect === undefined ? seen : `${seen}; ${effect}`;
}

/** What the mock's events have, all of which the specification leaves open. */
interface EventFacts {
  change: number;
  balance: number;
  tier: Tier;
  previous: Tier;
  marketingConsent: boolean;
  wallet: string;
}

const describeData: Record<EventType, (data: EventFacts) => string> = {
  "balance.changed": ({ change, balance }) => `${formatChange(change)} → ${formatNumber(balance)}`,
  "tier.changed": ({ tier, previous }) => {
    const now = tier ?? "no tier";
    return previous === null ? now : `${now} (before: ${previous})`;
  },
  "consent.changed": (data) => describeConsent(data),
  "card.added": ({ wallet }) => `added to ${toWalletTitle(wallet)}`,
  "card.removed": ({ wallet }) => `removed from ${toWalletTitle(wallet)}`,
  ping: () => "test",
};

/** @param data that of an event which the mock emitted. */
export const describeEvent = (type: EventType, data: unknown): string =>
  describeData[type](data as EventFacts);

export function describeAction(action: Action): string {
  const { type, change = 0, keepsBalance = false, wallet = "", isAdded, status = "" } = action;
  switch (type) {
    case "wallet":
      return `${isAdded ? "added to" : "removed from"} ${toWalletTitle(wallet)}`;
    case "status":
      return status;
    case "expiry":
      return keepsBalance ? `${formatNumber(-change)} points; they stay` : formatChange(change);
    default:
      return formatChange(change);
  }
}

const describeConsent = ({ marketingConsent }: { marketingConsent: boolean }) =>
  marketingConsent ? "marketing given" : "marketing withdrawn";
