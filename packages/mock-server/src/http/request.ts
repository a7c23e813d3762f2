/** Reads a request: its body within a limit and as JSON, and a limit in its query. */
import { readBounded, toChunks } from "@loyalty-cards/internal/bounded-body";
import type { Result } from "@loyalty-cards/internal/result";
import { createProblem, type Problem } from "../domain/problem.ts";
import { isDeeperThan } from "../domain/validation.ts";
import type { ApiContext } from "./app.ts";

const maxBodyBytes = 1024 * 1024;
/** The bodies of the API need four levels. The limit makes recursion over a body safe. */
const maxBodyLevels = 64;

const reject = (status: number, detail: string) => ({ failure: createProblem(status, detail) });

/** Fails for a body that is too large, incomplete, not UTF-8 or read before. */
export async function readText({ req }: ApiContext): Promise<Result<string, Problem>> {
  if (req.raw.bodyUsed)
    return reject(400, "The body was read before: in a handler of MSW, read request.clone().");
  try {
    const bytes = await readBytes(req);
    return bytes === undefined
      ? reject(413, `The body is larger than ${maxBodyBytes} bytes.`)
      : { value: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return reject(400, "The body is not UTF-8, or it is incomplete.");
  }
}

/** @returns undefined for a body above the limit. */
async function readBytes(req: ApiContext["req"]): Promise<ArrayBuffer | Uint8Array | undefined> {
  const length = req.header("content-length");
  if (length !== undefined) return Number(length) <= maxBodyBytes ? req.arrayBuffer() : undefined;
  const { body } = req.raw;
  return body ? readBounded(toChunks(body), maxBodyBytes) : new Uint8Array();
}

/** Fails for another content type, for text that is not JSON, and for deep nesting. */
export function parseJson({ req }: ApiContext, text: string): Result<unknown, Problem> {
  if (!/^\s*application\/json\s*(;|$)/i.test(req.header("content-type") ?? ""))
    return reject(415, "Send the body as Content-Type: application/json.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return reject(400, text === "" ? "The body is empty; send JSON." : "The body is not JSON.");
  }
  return isDeeperThan(maxBodyLevels, value)
    ? reject(400, `The body is nested deeper than ${maxBodyLevels} levels.`)
    : { value };
}

/** Fails for a text that is not a whole number above 0. */
export function parseLimit(
  text: string | undefined,
  { fallback = 20, max = 100 } = {},
): Result<number, Problem> {
  if (text === undefined) return { value: fallback };
  if (!/^0*[1-9]\d*$/.test(text)) return reject(400, "limit must be a whole number, 1 or more.");
  return { value: Math.min(Number(text), max) };
}
