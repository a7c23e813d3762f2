/**
 * Actions: what was done to a card, except by requests to the API. An action is recorded before the
 * events that it causes.
 */
import type { Domain } from "./context.ts";
import { type Action, addRecent } from "./state.ts";

/** What was done. */
export type ActionDetails = Pick<
  Action,
  "type" | "change" | "keepsBalance" | "wallet" | "isAdded" | "status"
>;

/** @returns its id. */
export function recordAction(
  { state, nowMs, ids }: Domain,
  cardId: string,
  details: ActionDetails,
): string {
  const id = ids.nextActionId();
  const at = new Date(nowMs()).toISOString();
  addRecent(state.recentActions, { kind: "action", id, at, cardId, ...details });
  return id;
}
