/** Sends a request once: within its time, with its body read to the end, and never to another address. */
import { AttemptFailure } from "./attempt-failure.ts";
import type { Call } from "./call.ts";
import { TimeUp, within } from "./clock.ts";
import { networkFault } from "./network-fault.ts";
import { type WholeAnswer, wholeAnswer } from "./whole-answer.ts";

export type Fetch = typeof globalThis.fetch;

/** A request as it goes out, as often as needed: everything in it is text. */
export interface OutgoingRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
}

/** As fetch, but what it gives is complete. */
export type Send = (url: string, request: OutgoingRequest) => Promise<WholeAnswer>;

/** @returns a Send that either gives a complete answer in time or throws {@link AttemptFailure}; or the caller's abort. */
export function attempting(fetch: Fetch, call: Call): Send {
  return async (url, request) => {
    const { clock, signal } = call;
    const stop = new AbortController();
    let hasStatus = false;
    async function exchange(): Promise<WholeAnswer> {
      const response = await fetch(url, { ...request, redirect: "manual", signal: stop.signal });
      hasStatus = true;
      return wholeAnswer(response, request.method);
    }
    try {
      return await within({ clock, ms: call.attemptMs(), signal }, exchange(), (reason) =>
        stop.abort(reason),
      );
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof AttemptFailure) throw error;
      if (error instanceof TimeUp) {
        throw new AttemptFailure("The service did not answer in time.", { code: "timeout", wasSent: true });
      }
      const { code, wasSent } = networkFault(error, hasStatus);
      // Of the runtime's error only its code: its texts and members can hold what was sent or received.
      const cause = Object.assign(new Error(code), { code });
      throw new AttemptFailure(`The connection to the service failed (${code}).`, {
        code: "network",
        wasSent,
        cause,
      });
    }
  };
}
