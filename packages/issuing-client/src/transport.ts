/** The interface of both transports, and the limit of a body. */
import type { Call } from "./call.ts";
import type { AttemptFailure } from "./network-failure.ts";

/** A request to the service. Everything in it is text, so it can be sent again. */
export interface HttpRequest extends Pick<Call, "method" | "path" | "body"> {
  /** Names in lower case. */
  headers: Record<string, string>;
}

export interface HttpResponse {
  status: number;
  /** Returns the value of a header, or null. @param name in lower case. */
  header(name: string): string | null;
  headers(): Headers;
  /** The body as UTF-8; `""` for a redirect, whose body is not read, and for a body that cannot be read. */
  text: string;
  bodyFailure?: AttemptFailure | undefined;
}

/** Sends one request to the service whose address it was created with. It follows no redirect and does not retry: `send` applies time limits and retries. */
export type Transport = (request: HttpRequest) => {
  /** Resolves when the body has arrived, or when the connection failed before the head of a response. */
  response: Promise<HttpResponse | AttemptFailure>;
  /** Ends the request, also while the body is read. */
  abort(): void;
};

/** A response of the service has a few kilobytes. */
export const maxBodyBytes = 4 * 1024 * 1024;

/** Creates `Headers`, without the names and values that HTTP parsers accept and `Headers` does not. */
export function toHeaders(pairs: Iterable<readonly [string, string]>): Headers {
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
