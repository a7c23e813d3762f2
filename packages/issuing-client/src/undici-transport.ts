/** Transport over undici's `dispatch`, for high throughput: a quarter of the cost of fetch. */
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { configurationError } from "./errors.ts";
import { decodeBody, getHeader, type NodeHeaders, splitUrl, toHeaders } from "./node-transport.ts";
import { type PendingRequest, type Transport, type TransportResponse, tooLongError } from "./transport.ts";

/** The part of undici's `Agent`, `Pool` or `Client` that is used, the same in undici 6, 7 and 8. */
export interface UndiciDispatcher {
  dispatch(
    options: {
      origin: string;
      path: string;
      method: "GET" | "POST" | "PUT";
      headers: Record<string, string>;
      body: string | null;
      headersTimeout: number;
      bodyTimeout: number;
    },
    // biome-ignore lint/suspicious/noExplicitAny: the types of the handler differ between the versions
    handler: any,
  ): unknown;
}

/**
 * Creates a transport over undici instead of node:http: half of its processor time. The dispatcher determines connections, proxies
 * and TLS. The client does not close it.
 * @param dispatcher an `Agent`, `Pool`, `Client` or `ProxyAgent` of undici 6, 7 or 8.
 * @throws {IssuingError} `configuration` for a value that is not a dispatcher.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { undiciTransport } from "@loyalty-cards/issuing-client/undici";
 * import { Agent } from "undici";
 *
 * const agent = new Agent({ connections: 32 });
 * const loyalty = createIssuingClient({ transport: undiciTransport(agent) });
 * ```
 */
export function undiciTransport(dispatcher: UndiciDispatcher): Transport {
  if (typeof dispatcher?.dispatch !== "function") {
    throw configurationError("undiciTransport needs a dispatcher of undici: undiciTransport(new Agent()).");
  }
  return (url, { method, headers, body = null }) => {
    headers["accept-encoding"] = "identity";
    const exchange = new Exchange();
    dispatcher.dispatch(
      {
        ...splitUrl(url),
        method: method as "GET" | "POST" | "PUT",
        headers,
        body,
        // The client limits the time; undici's own limits would end a longer attempt.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      exchange,
    );
    return exchange;
  };
}

/** A header's name or value in undici 6. */
interface Buffer {
  toString(encoding: "latin1"): string;
}

/** Stops the request. undici 7 and 8 pass it as a controller, undici 6 as a function. */
type Abort = (error: Error) => void;
interface Controller {
  abort: Abort;
}

/** One request and its response; undici calls the methods whose names begin with `on`. */
class Exchange implements PendingRequest, TransportResponse {
  status = 0;
  readonly #head = createDeferred<TransportResponse>();
  readonly #body = createDeferred<Uint8Array>();
  readonly #buffer = new BoundedBuffer(Number.POSITIVE_INFINITY);
  #headers: NodeHeaders = {};
  #length = 0;
  #maxBytes = Number.POSITIVE_INFINITY;
  #stop: Abort | undefined;
  #isAborted = false;

  constructor() {
    this.#body.promise.catch(() => {}); // also when the body is never read
  }

  get response(): Promise<TransportResponse> {
    return this.#head.promise;
  }

  abort(): void {
    this.#isAborted = true;
    this.#stop?.(new Error("aborted"));
  }

  header(name: string): string | null {
    return getHeader(this.#headers, name);
  }

  headers(): Headers {
    return toHeaders(this.#headers);
  }

  async text(maxBytes: number): Promise<string> {
    this.#maxBytes = maxBytes;
    this.#checkLength();
    return decodeBody(await this.#body.promise, this.header("content-encoding"), maxBytes);
  }

  discard(): void {
    this.abort();
  }

  #checkLength(): void {
    if (this.#length <= this.#maxBytes) return;
    this.#body.reject(tooLongError(this.#maxBytes));
    this.abort();
  }

  // undici 7 and 8

  onRequestStart(controller: Controller): void {
    this.onConnect((error) => controller.abort(error));
  }

  onResponseStart(_controller: Controller, status: number, headers: NodeHeaders): void {
    if (status < 200) return; // an informational response, which another one follows
    this.status = status;
    this.#headers = headers;
    this.#head.resolve(this);
  }

  onResponseData(_controller: Controller, chunk: Uint8Array): void {
    this.onData(chunk);
  }

  onResponseEnd(): void {
    this.onComplete();
  }

  onResponseError(_controller: Controller, error: unknown): void {
    this.onError(error);
  }

  // undici 6

  onConnect(abort: Abort): void {
    this.#stop = abort;
    if (this.#isAborted) this.abort();
  }

  onHeaders(status: number, rawHeaders: readonly Buffer[]): true {
    this.onResponseStart(undefined as never, status, parseRawHeaders(rawHeaders));
    return true;
  }

  onData(chunk: Uint8Array): true {
    this.#length += chunk.length;
    this.#buffer.add(chunk);
    this.#checkLength();
    return true;
  }

  onComplete(): void {
    this.#body.resolve(this.#buffer.bytes());
  }

  onError(error: unknown): void {
    this.#head.reject(error);
    this.#body.reject(error);
  }
}

/** Names and values in turn. */
function parseRawHeaders(raw: readonly Buffer[]): NodeHeaders {
  const texts = raw.map((text) => text.toString("latin1"));
  const headers: Record<string, string> = {};
  for (const [index, value] of texts.entries()) {
    const name = texts[index - 1]?.toLowerCase();
    if (index % 2 === 0 || name === undefined) continue;
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

function createDeferred<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
