/** Sends a request once: within its time, with its body read to the end, and never to another address. */
import { type Clock, TimeUp, within } from "./clock.ts";

export type Fetch = typeof globalThis.fetch;

export interface AttemptFacts {
  code: "network" | "timeout" | "invalid-response";
  /** Whether the service may have seen the request. */
  wasSent: boolean;
  retryable?: boolean;
  cause?: unknown;
}

/** An attempt without a usable answer. Stays inside the client: retry.ts makes the caller's error of it. */
export class AttemptFailure extends Error {
  readonly code: AttemptFacts["code"];
  readonly wasSent: boolean;
  readonly retryable: boolean;

  constructor(message: string, { code, wasSent, retryable = true, cause }: AttemptFacts) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.wasSent = wasSent;
    this.retryable = retryable;
  }
}

/** What the runtimes report when no byte of the request has left: names not found, connections and TLS not made. */
const neverSent =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|EPROTO|CERT_.*|ERR_TLS_.*|ERR_SSL_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|ConnectionRefused)$/;

/** A fetch that either gives a complete answer in time or throws an {@link AttemptFailure}; or the caller's abort. */
export function attempting(fetch: Fetch, clock: Clock, withinMs: () => number): Fetch {
  return async (input, init = {}) => {
    const signal = init.signal ?? undefined;
    signal?.throwIfAborted();
    const stop = new AbortController();
    let hasStatus = false;
    async function exchange(): Promise<Response> {
      const response = await fetch(input, { ...init, redirect: "manual", signal: stop.signal });
      hasStatus = true;
      return wholeAnswer(response, init.method);
    }
    try {
      return await within({ clock, ms: withinMs(), signal }, exchange(), (reason) => stop.abort(reason));
    } catch (error) {
      if (signal?.aborted || error instanceof AttemptFailure) throw error;
      if (!(error instanceof TimeUp)) throw networkFailure(error, hasStatus);
      throw new AttemptFailure("The service did not answer in time.", { code: "timeout", wasSent: true });
    }
  };
}

/** The same answer with its body in memory, so that nothing can be cut or stall after this point. */
async function wholeAnswer(response: Response, method: string | undefined): Promise<Response> {
  const { status, statusText, headers } = response;
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    throw new AttemptFailure(
      "The service answered with a redirect, which is not followed: is baseUrl the service's own address?",
      { code: "invalid-response", wasSent: true, retryable: false },
    );
  }
  const text = await response.text();
  const isReadable = isJson(text);
  // What a PUT answers is not shown (spec 4.5): whatever it is, the change was made.
  const isNeeded = status !== 204 && status !== 205 && method !== "PUT";
  if (response.ok && !isReadable && isNeeded) {
    throw new AttemptFailure(`The service answered ${status}, but the body is not JSON.`, {
      code: "invalid-response",
      wasSent: true,
    });
  }
  const complete = new Headers(headers);
  complete.delete("content-length"); // of the body on the wire, which is not this one
  const body = text === "" || (response.ok && !isReadable) ? null : text;
  return new Response(body, { status, statusText, headers: complete });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Keeps of the runtime's error its code only: its texts and members can hold what was sent or received. */
function networkFailure(error: unknown, hasStatus: boolean): AttemptFailure {
  const reason = codeOf(error) ?? codeOf((error as { cause?: unknown } | undefined)?.cause) ?? "no code";
  return new AttemptFailure(`The connection to the service failed (${reason}).`, {
    code: "network",
    wasSent: hasStatus || !neverSent.test(reason),
    cause: Object.assign(new Error(reason), { code: reason }),
  });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^[\w.-]{1,80}$/.test(code) ? code : undefined;
}
