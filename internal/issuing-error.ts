/** The mark of the errors of the client, and texts of theirs that other packages know. */

/** Marks the errors of the client, including those of another installed copy of it. */
export const issuingErrorBrand = Symbol.for("@loyalty-cards/issuing-client/error");

/** Whether a value is an `IssuingError`, also of another installed copy of the client. */
export const hasIssuingErrorBrand = <IssuingError>(value: unknown): value is IssuingError =>
  typeof value === "object" &&
  value !== null &&
  (value as Record<symbol, unknown>)[issuingErrorBrand] === true;

/** The `userMessage` of an error whose own text must not be shown to the user. */
export const generalUserMessage = "The loyalty service is not available right now.";

/**
 * Advice for a program, with which messages of the client end. The command leaves it out: a person
 * at a terminal reads the `userMessage`, and has no options.
 */
export const programAdvice = {
  userMessage: "userMessage says what to correct.",
  insecureHttp: "For a service on a private network, set allowInsecureHttp: true.",
} as const;
