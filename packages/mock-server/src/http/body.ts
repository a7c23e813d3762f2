/** Reads a JSON request body, or says why it cannot be read. */
import { Problem } from "../domain/problem.ts";
import { isDeeperThan } from "../domain/shape.ts";
import type { HttpRequest } from "./request.ts";

const maxBodyBytes = 1024 * 1024;
/** The API's own bodies need four. Whatever later walks through a body may then do so level by level. */
const maxBodyLevels = 64;
const decoder = new TextDecoder("utf-8", { fatal: true });

export type JsonBody = { value: unknown };

export async function readJson(request: HttpRequest): Promise<JsonBody | Problem> {
  if (!/^\s*application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    return new Problem(415, "Send the body as Content-Type: application/json.");
  }
  const text = await readText(request);
  if (text instanceof Problem) return text;
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

async function readText(request: HttpRequest): Promise<string | Problem> {
  try {
    const bytes = await request.bytes(maxBodyBytes);
    if (bytes === undefined) return new Problem(413, `The body is larger than ${maxBodyBytes} bytes.`);
    return decoder.decode(bytes);
  } catch {
    return new Problem(400, "The body is not UTF-8, or it was cut off.");
  }
}
