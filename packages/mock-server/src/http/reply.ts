/** What the service answers, before a host makes bytes of it. */
import { Problem } from "../domain/problem.ts";

/** What goes wrong with an answer on its way, on purpose. */
export type WireFault = "reset" | "destroy" | "truncate" | "malformed" | "hang";

export interface Reply {
  status: number;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of a body; its `content-type` is among the headers. */
  content?: string | Uint8Array | ReadableStream<Uint8Array>;
  headers?: Readonly<Record<string, string>>;
  fault?: WireFault;
}

/** Ready for any host. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  content: string | Uint8Array | ReadableStream<Uint8Array> | null;
  fault?: WireFault;
}

/** Nobody is going to read it: a stream that is left alone would go on collecting. */
export function abandon({ content }: Answer): void {
  if (content instanceof ReadableStream) void content.cancel();
}

export function answerOf(result: Reply | Problem): Answer {
  if (result instanceof Problem) return problemAnswer(result);
  const { status, body, content, headers = {}, fault } = result;
  const spoiled = fault !== undefined && { fault };
  if (content !== undefined) return { status, headers: { ...headers }, content, ...spoiled };
  if (body === undefined) return { status, headers: { ...headers }, content: null, ...spoiled };
  const text = JSON.stringify(body);
  return { status, headers: { "content-type": "application/json", ...headers }, content: text, ...spoiled };
}

function problemAnswer(problem: Problem): Answer {
  const headers: Record<string, string> = { "content-type": "application/problem+json" }; // spec 7
  if (problem.status === 401) headers["www-authenticate"] = "Bearer";
  return { status: problem.status, headers, content: JSON.stringify(problem) };
}
