/** The options of an outbox, validated when it is created. */
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { invalid } from "./add.ts";
import type { OutboxOptions } from "./outbox.ts";

const optionTypes = {
  client: "object",
  onIssued: "function",
  onRejected: "function",
  onOutcome: "function",
  log: "function",
  logErrorMessages: "boolean",
  retentionDays: "number",
  testing: "object",
} satisfies Record<keyof OutboxOptions<unknown>, string>;

/** @param own the options of the database. @throws {TypeError} for an option that is unknown, or has another type. */
export function requireOutboxOptions(owner: string, options: OutboxOptions<never>, ...own: string[]): void {
  if (typeof options !== "object" || options === null)
    throw invalid(`${owner} needs options: ${[...own, "client", "onIssued"].join(", ")}.`);
  requireKnownOptions(owner, options, ["client", ...own, ...Object.keys(optionTypes).slice(1)]);
  for (const [name, type] of Object.entries(optionTypes)) {
    const value: unknown = options[name as keyof typeof optionTypes];
    // `onIssued: undefined` comes from a wrong import or a misspelt property: the cards would not reach the users.
    if (name in options && typeof value !== type && (value !== undefined || name === "onIssued"))
      throw invalid(
        `${name} must be ${type === "object" ? "an" : "a"} ${type}; it is ${value === null ? "null" : typeof value}.`,
      );
  }
}
