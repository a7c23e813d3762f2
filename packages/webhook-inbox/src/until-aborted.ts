/** A wait that a signal ends. */

/**
 * Waits for work until the signal aborts, also when the work ignores it. Begins no work when it has
 * aborted.
 * @throws the signal's reason, and what the work throws.
 */
export function untilAborted<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}
