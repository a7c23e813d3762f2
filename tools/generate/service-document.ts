/** Fetches the OpenAPI document of a service. Size, depth and number of values are limited, so that no document exhausts the memory. */
import { isRecord, type Json } from "./document.ts";

/** After decompression. The document of the contract has 32 KiB, 15 levels and 1,400 values. */
export const maxBytes = 4 * 1024 * 1024;
/** Objects and lists inside each other. */
const maxDepth = 100;
const maxValues = 200_000;
const timeoutMs = 10_000;

/**
 * Fetches the document below the base URL of a service ([spec 4.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-6)).
 *
 * @param baseUrl the `baseUrl` of the client, without `/api/v1`
 * @throws {Error} when the service does not respond in time with an OpenAPI 3 document within the limits
 */
export async function fetchDocument(baseUrl: string): Promise<Json> {
  const { protocol, username, password } = new URL(URL.canParse(baseUrl) ? baseUrl : "not:");
  if (!/^https?:$/.test(protocol)) throw new Error("--from is not a URL such as https://cards.example.com.");
  if (username !== "" || password !== "") throw new Error("--from contains a user name or a password.");

  const address = `${baseUrl.replace(/\/+$/, "")}/api/docs/json`;
  const text = await download(address);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {} // not JSON: undefined is no document either
  if (!isRecord(document) || !/^3\./.test(String(document["openapi"])))
    throw new Error(`${address} is not an OpenAPI 3 document.`);
  checkStructure(document, address);
  return document;
}

async function download(address: string): Promise<string> {
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
    const { message, cause = { message } } = error as { message: string; cause?: { message: string } };
    throw new Error(`${address} does not respond: ${cause.message}.`);
  }
  if (status < 200 || status > 299)
    throw new Error(`${address} responded ${status}. Is this the address of the service, without /api/v1?`);
  if (size > maxBytes) throw new Error(`${address} has more than ${maxBytes / 1024 / 1024} MiB.`);
  return Buffer.concat(chunks).toString();
}

/** Counts values and levels without recursion, so that what reads the document afterwards may recurse. */
function checkStructure(document: Json, address: string): void {
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
