/** Errors of ours: their marks, links to their pages, and texts that several packages know. */

/** Marks the errors of the client, including those of another installed copy of it. */
export const issuingErrorBrand = Symbol.for("@loyalty-cards/issuing-client/error");

/** Marks the errors of the verifier in the same way. */
export const webhookErrorBrand = Symbol.for("@loyalty-cards/webhook-verify/error");

/** Whether a value is an `IssuingError`, also of another installed copy of the client. */
export const hasIssuingErrorBrand = <IssuingError>(value: unknown): value is IssuingError =>
  typeof value === "object" &&
  value !== null &&
  (value as Record<symbol, unknown>)[issuingErrorBrand] === true;

/** The `userMessage` of an error whose own text must not be shown to the user. */
export const generalUserMessage = "The loyalty service is not available right now.";

/** The `userMessage` of a 422 that does not say what to correct. */
export const generalFormMessage = "Please check your details.";

export const wrongSignalMessage = "signal must be an AbortSignal: pass controller.signal.";

const linkStart = " See https://loyalty-cards.github.io/loyalty-cards/errors#";

/**
 * Formats the link to the section about an error. Each message with a code or a reason ends with
 * it.
 * @param section a heading of `docs/errors.md`, such as `rate-limited`.
 */
export const formatErrorLink = (section: string): string => linkStart + section;

/** Returns a message without the link at its end. */
export const removeErrorLink = (message: string): string => message.split(linkStart)[0] as string;

const safeMessage = Symbol.for("@loyalty-cards/safe-message");
/** The brands of our errors whose messages contain no secret and no personal data. */
const safeBrands = [safeMessage, issuingErrorBrand, webhookErrorBrand];

/** Whether the message of an error contains no secret and no personal data. */
export const hasSafeMessage = (error: Error): boolean =>
  safeBrands.some((brand) => (error as unknown as Record<symbol, unknown>)[brand] === true);

/**
 * Marks an error of ours whose message contains no secret and no personal data, so that
 * `describeError` quotes it.
 */
export function withSafeMessage<Failure extends Error>(error: Failure): Failure {
  return Object.defineProperty(error, safeMessage, { value: true });
}

/**
 * Creates the error for a wrong call. Its message contains no secret and no personal data: one that
 * quotes a name of the caller is a plain `TypeError`.
 */
export const createTypeError = (message: string, options?: ErrorOptions): TypeError =>
  withSafeMessage(new TypeError(message, options));

/**
 * Creates the error for a function of the user that returns another one. Nobody calls that, so the
 * event, or what it writes, would be lost.
 */
export const createReturnedFunctionError = (name: string): Error =>
  createTypeError(
    `${name} returned a function, which nothing calls: call it inside, or pass that function itself.`,
  );
