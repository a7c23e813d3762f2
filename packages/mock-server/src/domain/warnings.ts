/** Warnings: what the service accepts without an error, although it is probably a mistake of the caller. */
import type { Domain } from "./surroundings.ts";

/** A request that repeated an idempotency key with other content. Without personal data. */
export interface Warning {
  id: string;
  type: "replay-with-other-content";
  /** ISO 8601, by the service's clock. */
  at: string;
  /** What happened, and what to do. */
  message: string;
  /** Eight hexadecimal digits that are the same for the same key. */
  keyHash: string;
  /** The template that the request named; absent when there is none with this id. */
  templateId?: string;
  /** The card that was returned; absent when the stored response was a refusal. */
  cardId?: string;
}

export interface WarningStore {
  /** The newest, oldest first. */
  warnings: Map<string, Warning>;
}

const maxWarnings = 100;

export function warn(
  { state, newIdentifier, nowMs, tell, log }: Domain<WarningStore>,
  details: Omit<Warning, "id" | "at">,
): void {
  const warning: Warning = { id: newIdentifier("wrn"), at: new Date(nowMs()).toISOString(), ...details };
  state.warnings.set(warning.id, warning);
  tell({ type: "warning", id: warning.id, action: "created" });
  const [oldest] = state.warnings.keys();
  if (state.warnings.size > maxWarnings && oldest !== undefined) {
    state.warnings.delete(oldest);
    tell({ type: "warning", id: oldest, action: "removed" });
  }
  log(`warning: ${warning.message}`);
}
