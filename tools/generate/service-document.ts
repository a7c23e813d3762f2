/** Fetches the OpenAPI document of a service. Size, depth and number of values are limited, so that no document exhausts the memory. */
import { isRecord, type Json } from "./document.ts";

/** The document of the contract has 32 KiB, 15 levels and 1,400 values. */
export const documentLimits = {
  /** After decompression. */
  maxBytes: 4 * 1024 * 1024,
  /** Objects and lists inside each other. */
  maxDepth: 100,
  maxValues: 200_000,
  timeoutMs: 10_000,
};

/**
 * Fetches the document below the base URL of a service ([spec 4.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-6)).
 *
 * @param baseUrl the `baseUrl` of the client, without `/api/v1`
 * @throws {Error} when the service does not respond in time with an OpenAPI 3 document within `documentLimits`
 */
export async function fetchDocument(baseUrl: string): Promise<Json> {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw new Error("--from is not a URL such as https://cards.example.com.");
  const { username, password } = new URL(baseUrl);
  if (username !== "" || password !== "") throw new Error("--from contains a user name or a password.");

  const address = `${baseUrl.replace(/\/+$/, "")}/api/docs/json`;
  const document = parseJson(await download(address));
  if (!isRecord(document) || !/^3\./.test(String(document["openapi"])))
    throw new Error(`${address} is not an OpenAPI 3 document.`);
  checkStructure(document, address);
  return document;
}

async function download(address: string): Promise<string> {
  const { maxBytes, timeoutMs } = documentLimits;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let status = 0;
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    status = response.status;
    // The bytes are counted as they arrive: `content-length` is the length of the compressed body.
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > maxBytes || !response.ok) break;
      chunks.push(chunk);
    }
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(`${address} does not respond: ${cause instanceof Error ? cause.message : message}.`);
  }
  if (status < 200 || status > 299)
    throw new Error(`${address} responded ${status}. Is this the address of the service, without /api/v1?`);
  if (size > maxBytes) throw new Error(`${address} has more than ${maxBytes / 1024 / 1024} MiB.`);
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Counts values and levels without recursion, so that what reads the document afterwards may recurse. */
function checkStructure(document: Json, address: string): void {
  const { maxDepth, maxValues } = documentLimits;
  const waiting: { value: unknown; depth: number }[] = [{ value: document, depth: 1 }];
  let values = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    values++;
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth > maxDepth) throw new Error(`${address} is nested more than ${maxDepth} levels deep.`);
    for (const value of Object.values(next.value)) waiting.push({ value, depth: next.depth + 1 });
    if (values + waiting.length > maxValues)
      throw new Error(`${address} has more than ${maxValues.toLocaleString("en")} values.`);
  }
}
