/** Calls listeners of the application, and describes errors without personal data. */

/**
 * Calls the listener and ignores what it returns. `onError` receives what it throws, or what its promise rejects with.
 * @example
 * ```ts
 * notify(options.onOutcome, outcome, (error) => log(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`));
 * ```
 */
export function notify<Value>(
  listener: ((value: Value) => unknown) | undefined,
  value: Value,
  onError: (error: unknown) => void = ignore,
): void {
  try {
    const result = listener?.(value);
    // Not instanceof: promises of other realms and libraries are no instances of ours.
    if (typeof result === "object" && result !== null && "then" in result)
      Promise.resolve(result).catch(onError);
  } catch (error) {
    onError(error);
  }
}

function ignore(): void {}

/** The name of an error, or the type of what was thrown instead of one. */
export function formatErrorKind(error: unknown): string {
  try {
    if (!(error instanceof Error)) return error === null ? "null" : typeof error;
    return String(error.name);
  } catch {
    return "an unreadable error"; // a proxy, or a getter that throws
  }
}

/** The kind of an error and where it was thrown: its message may quote a customer and is neither logged nor stored. */
export function formatErrorLocation(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `a thrown ${formatErrorKind(error)}`;
    // Only after the message: a message of several lines can look like a stack.
    const { stack = "", message, name } = error;
    const frames = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : "";
    const frame = /^\s+at (.+)$/m.exec(frames)?.[1];
    return frame === undefined ? name : `${name} at ${frame}`;
  } catch {
    return "an unreadable error";
  }
}
