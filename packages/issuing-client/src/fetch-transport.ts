/** The transport that every runtime has: its own fetch. */
import { type IncomingAnswer, isAnnouncedWithin, type Transport, tooLong } from "./transport.ts";

export type Fetch = typeof globalThis.fetch;

// Looked up at each call, so that what replaces the global later (a test's interception) is used.
const runtimesOwn: Fetch = (url, init) => globalThis.fetch(url, init);

export function fetchTransport(fetch: Fetch = runtimesOwn): Transport {
  return (url, { method, headers, body = null }) => {
    const controller = new AbortController();
    const { signal } = controller;
    return {
      answer: answerOf(fetch, url, { method, headers, body, redirect: "manual", signal }),
      stop: (reason) => controller.abort(reason),
    };
  };
}

async function answerOf(fetch: Fetch, url: string, init: RequestInit): Promise<IncomingAnswer> {
  return new FetchAnswer(await fetch(url, init));
}

class FetchAnswer implements IncomingAnswer {
  readonly status: number;
  readonly #response: Response;

  constructor(response: Response) {
    this.#response = response;
    // Some runtimes hide which redirect it was.
    this.status = response.type === "opaqueredirect" ? 300 : response.status;
  }

  header(name: string): string | null {
    return this.#response.headers.get(name);
  }

  headers(): Headers {
    return this.#response.headers;
  }

  text(maxBytes: number): Promise<string> {
    const response = this.#response;
    return isAnnouncedWithin(maxBytes, this) || response.body === null
      ? response.text()
      : counted(response.body, maxBytes);
  }

  discard(): void {
    this.#response.body?.cancel?.().catch(() => {});
  }
}

async function counted(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let [text, length] = ["", 0];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.byteLength;
    if (length > maxBytes) {
      reader.cancel().catch(() => {});
      throw tooLong(maxBytes);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}
