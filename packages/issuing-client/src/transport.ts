/** Transport: what sends one request to the service; and the transport over fetch. */
import { type ByteStream, readBounded, toChunks } from "@loyalty-cards/internal/bounded-body";

/** A request of the client. Everything in it is text, so it can be sent again. */
export interface TransportRequest {
  /** `GET`, `POST` or `PUT`; through `client.api` any method. */
  method: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON. Absent when the request has no body. */
  body?: string;
}

/** A response whose head was received; its body may still arrive. */
export interface TransportResponse {
  /** The HTTP status. */
  status: number;
  /** Returns the value of a header, or null. @param name in lower case. */
  header(name: string): string | null;
  /** Returns all headers. */
  headers(): Headers;
  /**
   * Reads the whole body as UTF-8 text.
   * @param maxBytes the limit of the body. Reject with an {@link UnreadableBodyError} when the body is longer.
   */
  text(maxBytes: number): Promise<string>;
  /** Discards the body and releases the connection. */
  discard(): void;
}

/** A request that was sent. */
export interface PendingRequest {
  /** Resolves when the head of the response was received. */
  response: Promise<TransportResponse>;
  /** Aborts the request, also while the body is read. Called at most once. */
  abort(reason: unknown): void;
}

/** Sends one request to an absolute address. It does not follow redirects and does not retry; time limits are applied outside. */
export type Transport = (url: string, request: TransportRequest) => PendingRequest;

/** Thrown by `text` of a response for a body that cannot be used, such as one that is too long. */
export class UnreadableBodyError extends Error {
  /** Whether another attempt may return a usable body. */
  readonly retryable: boolean;

  /** @param message completes the sentence "The service responded with …". */
  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/** The error for a body that is longer than `maxBytes`. */
export function tooLongError(maxBytes: number): UnreadableBodyError {
  return new UnreadableBodyError(`more than ${maxBytes} bytes`, false);
}

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
interface FetchedResponse {
  readonly status: number;
  readonly type: string;
  readonly headers: Iterable<[string, string]> & { get(name: string): string | null };
  readonly body: ByteStream | null;
  text(): Promise<string>;
}

// Looked up at each call, because interceptors such as MSW replace the global later.
const globalFetch: Fetch = (url, init) => globalThis.fetch(url, init);

/** Creates a transport over fetch: the default outside of Node.js. */
export function fetchTransport(fetch: Fetch = globalFetch): Transport {
  return (url, { method, headers, body = null }) => {
    const controller = new AbortController();
    const { signal } = controller;
    let received: FetchResponse | undefined;
    // The body is cancelled in addition to the abort, which undici loses once the request is garbage-collected.
    const abort = (reason: unknown) => {
      controller.abort(reason);
      received?.cancelBody();
    };
    const send = async () => {
      const response = await fetch(url, { method, headers, body, redirect: "manual", signal });
      received = new FetchResponse(response, abort);
      return received;
    };
    return { response: send(), abort };
  };
}

class FetchResponse implements TransportResponse {
  readonly status: number;
  readonly #response: FetchedResponse;
  readonly #abort: (reason: unknown) => void;
  #chunks: AsyncIterable<Uint8Array> | undefined;

  constructor(response: FetchedResponse, abort: (reason: unknown) => void) {
    this.#response = response;
    this.#abort = abort;
    // Some runtimes hide the status of a redirect.
    this.status = response.type === "opaqueredirect" ? 300 : response.status;
  }

  header(name: string): string | null {
    return this.#response.headers.get(name);
  }

  headers(): Headers {
    return toHeaders(this.#response.headers);
  }

  async text(maxBytes: number): Promise<string> {
    const { body } = this.#response;
    let isAllRead = false;
    try {
      if (typeof body?.getReader !== "function") return await this.#response.text();
      this.#chunks = toChunks(body);
      const bytes = await readBounded(this.#chunks, maxBytes);
      if (bytes === undefined) throw tooLongError(maxBytes);
      isAllRead = this.header("content-encoding") === null;
      return new TextDecoder().decode(bytes);
    } finally {
      // fetch hides the body of a 204, 205 or 304, and bytes after the end of a compressed body. Unread, both keep the connection open.
      if (!isAllRead) this.discard();
    }
  }

  discard(): void {
    this.#abort(discarded);
  }

  cancelBody(): void {
    if (this.#chunks === undefined) this.#response.body?.cancel?.().catch(() => {});
    else void this.#chunks[Symbol.asyncIterator]().return?.();
  }
}

/** One reason for all requests: the default, a DOMException with a stack, is slow to create. */
const discarded = new Error("The response was read or is not needed.");

/** Creates `Headers`, without the names and values that HTTP parsers accept and `Headers` does not. */
export function toHeaders(pairs: Iterable<[string, string]>): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) {
    try {
      headers.append(name, value);
    } catch {
      // The rest of the response is usable.
    }
  }
  return headers;
}
