/** Tells a listener of the program, which can neither fail a call nor take the process down. */
export function tell<Told>(listener: ((told: Told) => unknown) | undefined, told: Told): void {
  try {
    const result = listener?.(told);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // Whoever listens has to handle what it throws.
  }
}
