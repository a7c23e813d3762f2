/** A request as the routes see it, and its JSON body. */
import { readBounded, toChunks } from "@loyalty-cards/internal/bounded-body";
import { isDeeperThan } from "../domain/input.ts";
import { Problem } from "../domain/problem.ts";

export interface ServiceRequest {
  method: string;
  url: URL;
  headers: { get(name: string): string | null };
  /** The whole body; undefined when it is longer than `maxBytes`, and the rest is not read. @throws when the connection ends early. */
  bytes(maxBytes: number): Promise<Uint8Array | undefined>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export function fromFetch(request: Request): ServiceRequest {
  const { method, headers, signal } = request;
  return {
    method,
    url: new URL(request.url),
    headers,
    signal,
    bytes: (maxBytes) => readBody(request, maxBytes),
  };
}

async function readBody({ body }: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  return body === null ? new Uint8Array() : readBounded(toChunks(body), maxBytes);
}

const maxBodyBytes = 1024 * 1024;
/** The bodies of the API need four levels. The limit makes recursion over a body safe. */
const maxBodyLevels = 64;
const decoder = new TextDecoder("utf-8", { fatal: true });

export type JsonBody = { value: unknown };

export async function readJson(request: ServiceRequest): Promise<JsonBody | Problem> {
  if (!/^\s*application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    return new Problem(415, "Send the body as Content-Type: application/json.");
  }
  let text: string;
  try {
    const bytes = await request.bytes(maxBodyBytes);
    if (bytes === undefined) return new Problem(413, `The body is larger than ${maxBodyBytes} bytes.`);
    text = decoder.decode(bytes);
  } catch {
    return new Problem(400, "The body is not UTF-8, or it is incomplete.");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new Problem(400, text === "" ? "The body is empty; send JSON." : "The body is not JSON.");
  }
  if (isDeeperThan(maxBodyLevels, value)) {
    return new Problem(400, `The body is nested deeper than ${maxBodyLevels} levels.`);
  }
  return { value };
}
