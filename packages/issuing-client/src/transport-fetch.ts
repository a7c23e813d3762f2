/** Sends requests over `fetch`: the caller's own, or the global one outside of Node.js. */
import { BoundedBuffer, type ByteStream, decodeUtf8 } from "@loyalty-cards/internal/bounded-body";
import type { Result } from "@loyalty-cards/internal/result";
import { describeNetworkFailure } from "./network-failure.ts";
import { isRedirect } from "./response.ts";
import {
  type AttemptFailure,
  type HttpResponse,
  maxBodyBytes,
  type Transport,
  toHeaders,
  tooLong,
} from "./transport.ts";

/**
 * The part of `fetch` that is used. The global function fits, and so do functions with other types,
 * such as undici's.
 */
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
  readonly bodyUsed?: boolean;
}

/**
 * @param fetch default: the global function at the time of each call, because interceptors such as
 * MSW replace it later.
 */
export function createFetchTransport(
  baseUrl: string,
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
): Transport {
  const fail = (error: unknown, wasSent?: true) =>
    describeNetworkFailure(error, { wasSent, baseUrl });

  /** @returns why what `fetch` resolved to is no response. */
  function findFailure(response: FetchedResponse) {
    const isResponse = [response?.text, response?.headers?.get].every(isFunction);
    if (!isResponse) return noResponse; // such as that of axios
    if (response.bodyUsed && response.status < 300) return noResponse; // by a logger
    // An interceptor, such as MSW, may pass on a network error as a response.
    const isNetworkError = response.status === 0 && response.type !== "opaqueredirect";
    return isNetworkError ? fail(undefined) : undefined;
  }

  return ({ method, path, headers, body = null }) => {
    const controller = new AbortController();
    let reader: Reader | undefined;
    const abort = () => {
      controller.abort(new Error("The response was read or is not needed."));
      // undici loses the abort once the request is garbage-collected.
      reader?.cancel().catch(() => {});
    };

    async function exchange(): Promise<Result<HttpResponse, AttemptFailure>> {
      let response: FetchedResponse;
      try {
        const { signal } = controller;
        const init = { method, headers, body, redirect: "manual", signal } as const;
        response = await fetch(baseUrl + path, init);
      } catch (error) {
        abort(); // fetch rejects a 407, and leaves its body unread
        return fail(error);
      }
      const failure = findFailure(response);
      if (failure !== undefined) return failure;
      const head = readHead(response);
      let text: HttpResponse["body"];
      try {
        reader = response.body?.getReader?.();
        text = await readText(response, head.status, reader);
      } catch (error) {
        text = fail(error, true);
      }
      // fetch hides the body of a 204, 205 or 304, and bytes after the end of a compressed body.
      // Both keep the connection open when they are not read.
      const hasReadAll = reader !== undefined && text.failure === undefined;
      if (!hasReadAll || isRedirect(head.status) || head.header("content-encoding") !== null)
        abort();
      return { value: { ...head, body: text } };
    }
    return { response: exchange(), abort };
  };
}

const noResponse: { failure: AttemptFailure } = {
  failure: {
    code: "invalid-response",
    message:
      "The option fetch returned no Response, or one whose body was read: pass a function that returns one, as the global fetch does. To log a body, read response.clone().",
    wasSent: true,
    retryable: false,
  },
};

const isFunction = (member: unknown) => typeof member === "function";

type Reader = ReturnType<ByteStream["getReader"]>;

function readHead({ type, status, headers }: FetchedResponse): Omit<HttpResponse, "body"> {
  return {
    status: type === "opaqueredirect" ? 300 : status, // some runtimes hide the status of a redirect
    header: (name) => headers.get(name),
    headers: () => toHeaders(headers),
  };
}

/** @param reader undefined when the body is no web stream, as in some libraries. */
async function readText(
  response: FetchedResponse,
  status: number,
  reader: Reader | undefined,
): Promise<Result<string, AttemptFailure>> {
  if (isRedirect(status)) return { value: "" };
  if (reader === undefined) return { value: await response.text() };
  const buffer = new BoundedBuffer(maxBodyBytes);
  for (let part = await reader.read(); !part.done; part = await reader.read())
    if (!buffer.add(part.value as Uint8Array)) return tooLong(status);
  return { value: decodeUtf8(buffer.bytes()) };
}
