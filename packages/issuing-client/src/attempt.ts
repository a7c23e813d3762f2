/** Sends a request once: within its time, with its body read to the end, and never to another address. */
import { AttemptFailure } from "./attempt-failure.ts";
import type { Call } from "./call.ts";
import { TimeUp, within } from "./clock.ts";
import { networkFault } from "./network-fault.ts";
import type { OutgoingRequest, Transport } from "./transport.ts";
import { type WholeAnswer, wholeAnswer } from "./whole-answer.ts";

/** Carries the request of a call out; what comes back is complete. */
export type Send<Result> = (call: Call, url: string, request: OutgoingRequest) => Promise<Result>;

/** @returns a Send that gives an answer or why there was none, in time. It throws only the caller's own abort. */
export function attempting(transport: Transport): Send<WholeAnswer | AttemptFailure> {
  return async (call, url, request) => {
    const { clock, signal } = call;
    const startedAtMs = clock.monotonicMs();
    let hasStatus = false;
    try {
      const sending = transport(url, request);
      const answered = wholeAnswer(sending.answer, request.method, () => {
        hasStatus = true;
      });
      const endsAtMs = () => startedAtMs + call.timeoutMs;
      return await within({ clock, endsAtMs, signal }, answered, (reason) => {
        sending.stop(reason);
        return undefined;
      });
    } catch (error) {
      if (error instanceof TimeUp) {
        return new AttemptFailure("The service did not answer in time.", { code: "timeout", wasSent: true });
      }
      if (signal.aborted) throw signal.reason;
      if (error instanceof AttemptFailure) return error;
      const { code, wasSent } = networkFault(error, hasStatus);
      return new AttemptFailure(`The connection to the service failed (${code}).`, {
        code: "network",
        wasSent,
        networkCode: code,
      });
    }
  };
}
