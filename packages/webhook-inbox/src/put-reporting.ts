/** Times a put and tells how it ended; gives up when the answer is due. */
import type { Inbox } from "@loyalty-cards/webhook-verify";
import type { Report } from "./outcome.ts";

/** `store` need not know of signals: what it still does after one is harmless, because the next copy finds it. */
export function reportingPut(
  report: Report,
  store: (...arrival: Parameters<Inbox["put"]>) => Promise<"stored" | "duplicate">,
): Inbox["put"] {
  return async (event, raw, options) => {
    const { id, type } = event;
    const startedMs = performance.now();
    const durationMs = () => performance.now() - startedMs;
    try {
      const outcome = await orAborted(options.signal, () => store(event, raw, options));
      report({ outcome, event: { id, type }, durationMs: durationMs() });
      return outcome;
    } catch (error) {
      report({ outcome: "not-stored", event: { id, type }, durationMs: durationMs(), error });
      throw error;
    }
  };
}

function orAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", giveUp));
  });
}
