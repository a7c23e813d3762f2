/** Responses of the service as plain data. Adapters send them, or convert them to a `Response` of the Fetch API. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { type FieldError, Problem } from "../domain/problem.ts";

/** How an injected fault breaks the connection that the response is sent on. */
export type ConnectionFault = "reset" | "destroy" | "truncate" | "malformed" | "hang";

export interface ServiceResponse {
  status: number;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  connectionFault?: ConnectionFault;
  /** For the request log: why the request failed, or `replay`. Not sent. */
  reason?: string;
  /** For the request log: the card that was issued or that the path names. Not sent. */
  cardId?: string | undefined;
}

/** @throws {Error} for a value that JSON cannot represent: not a TypeError, which would mean invalid input. */
export function jsonResponse(status: number, value: unknown): ServiceResponse {
  try {
    return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
  } catch (cause) {
    throw new Error("The response cannot be written as JSON.", { cause });
  }
}

export const emptyResponse = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
): ServiceResponse => ({ status, headers, body: null });

/** @param headers headers besides `content-type`. */
export function problemResponse(
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
): ServiceResponse {
  return {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json", // spec 7
      ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
      ...headers,
    },
    body: JSON.stringify(problem),
    reason: formatReason(problem),
  };
}

const maxReasonLength = 200;

/** `customer.consents is missing`: the first error, or else the first sentence of the detail. */
function formatReason({ detail, errors: [error] }: Problem): string {
  const sentence = error === undefined ? (detail.split(/\.\s/)[0] ?? "") : formatError(error);
  return toPrintable(sentence.replace(/\.$/, ""), maxReasonLength);
}

/** A rule names its member; a sentence for a person does not. */
function formatError({ pointer, detail, rule }: FieldError): string {
  const name = pointer.slice(1).replaceAll("/", ".");
  if (rule === undefined) return `${name}: ${detail}`;
  return rule.startsWith(`"${name}" `) ? name + rule.slice(name.length + 2) : rule;
}

export const toServiceResponse = (result: ServiceResponse | Problem): ServiceResponse =>
  result instanceof Problem ? problemResponse(result) : result;

/** Cancels the body of a response that is not sent. Otherwise the data of a stream would fill the memory. */
export function cancelBody({ body }: ServiceResponse): void {
  if (body instanceof ReadableStream) void body.cancel();
}

/** Converts to a `Response`; one that an injected fault truncates ends as fetch reports a connection that broke. */
export function toFetchResponse({ status, headers, body, connectionFault }: ServiceResponse): Response {
  const isTruncated = connectionFault === "truncate" || connectionFault === "malformed";
  return new Response(isTruncated ? truncateBody(body) : body, { status, headers });
}

/** The first half of the body, then the error of fetch. */
function truncateBody(body: ServiceResponse["body"]): ReadableStream<Uint8Array> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  let isHalfSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isHalfSent && bytes instanceof Uint8Array) {
        isHalfSent = true;
        controller.enqueue(bytes.subarray(0, bytes.length >> 1));
      } else controller.error(new TypeError("terminated"));
    },
  });
}
