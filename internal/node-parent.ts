/** Notices that npm has ended, for a program that npm started. */

/** The id is read at the start, because the parent may end before `watchParent` is called. */
const parentId = process.ppid;
const checkIntervalMs = 500;

/**
 * Calls `onEnd` once when npm has ended. On SIGTERM npm ends its shell, which does not forward the
 * signal, so this process only sees that its parent has changed. Without npm the parent is not
 * watched: it may end first on purpose, as with `nohup`.
 * @returns a function that stops watching.
 */
export function watchParent(onEnd: () => void): () => void {
  if (process.env["npm_lifecycle_event"] === undefined) return () => {};
  const timer = setInterval(() => {
    if (process.ppid === parentId) return;
    clearInterval(timer);
    onEnd();
  }, checkIntervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
