/** Sends requests over `fetch`: the caller's own, or the global one outside of Node.js. */
import type { ByteStream } from "@loyalty-cards/internal/bounded-body";
import {
  type AttemptFailure,
  type HttpResponse,
  maxBodyBytes,
  type Transport,
  toHeaders,
  toTooLong,
} from "./call.ts";
import { describeNetworkFailure } from "./network-failure.ts";

/** The part of `fetch` that is used. The global function fits, and so do functions with other types, such as undici's. */
export type Fetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body: string | null;
    redirect: "manual";
    signal: AbortSignal;
  },
) => Promise<FetchedResponse>;

/** The part of a `Response` that is used. */
interface FetchedResponse extends Pick<Response, "status" | "text"> {
  readonly type: string;
  readonly headers: Iterable<[string, string]> & { get(name: string): string | null };
  readonly body: ByteStream | null;
}

/** One reason for all requests: the default, a DOMException with a stack, is slow to create. */
const discarded = new Error("The response was read or is not needed.");

/** @param fetch default: the global function at the time of each call, because interceptors such as MSW replace it later. */
export function createFetchTransport(
  baseUrl: string,
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
): Transport {
  return ({ method, path, headers, body = null }) => {
    const controller = new AbortController();
    // In addition to the abort, which undici loses once the request is garbage-collected.
    let cancelBody = () => {};
    const abort = () => {
      controller.abort(discarded);
      cancelBody();
    };
    const exchange = async (): Promise<HttpResponse> => {
      const init = { method, headers, body, redirect: "manual", signal: controller.signal } as const;
      const response = await fetch(baseUrl + path, init);
      const status = response.type === "opaqueredirect" ? 300 : response.status; // some runtimes hide the status of a redirect
      cancelBody = () => void response.body?.cancel?.().catch(() => {});
      const header = (name: string) => response.headers.get(name);
      const head = { status, header, headers: () => toHeaders(response.headers) };
      let isAllRead = false;
      try {
        if (status >= 300 && status < 400) return { ...head, text: "" };
        if (typeof response.body?.getReader !== "function") return { ...head, text: await response.text() };
        const reader = response.body.getReader();
        cancelBody = () => void reader.cancel().catch(() => {});
        const chunks: Uint8Array<ArrayBuffer>[] = [];
        let length = 0;
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          const chunk = part.value as Uint8Array<ArrayBuffer>;
          chunks.push(chunk);
          length += chunk.byteLength;
          if (length > maxBodyBytes) return { ...head, text: "", bodyFailure: toTooLong(status) };
        }
        isAllRead = header("content-encoding") === null;
        return { ...head, text: await decodeUtf8(chunks) };
      } catch (error) {
        return { ...head, text: "", bodyFailure: describeNetworkFailure(error, true, baseUrl) };
      } finally {
        // fetch hides the body of a 204, 205 or 304, and bytes after the end of a compressed body. Unread, both keep the connection open.
        if (!isAllRead) abort();
      }
    };
    const toFailure = (error: unknown): AttemptFailure => {
      abort(); // fetch rejects a 407, and leaves its body unread
      return describeNetworkFailure(error, false, baseUrl);
    };
    return { response: exchange().catch(toFailure), abort };
  };
}

/** Jest's jsdom has no TextDecoder and no `text` of a Blob, but it runs on Node.js. */
function decodeUtf8(chunks: readonly Uint8Array<ArrayBuffer>[]): string | Promise<string> {
  return typeof Buffer === "undefined" ? new Blob([...chunks]).text() : Buffer.concat(chunks).toString();
}
