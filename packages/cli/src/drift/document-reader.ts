/** Fetches the OpenAPI document of a service. Its size, depth and number of values are limited, so that no document can exhaust the memory. */
import { isRecord, type Json, UnusableDocumentError } from "./document.ts";

/** The document of the contract has 32 KiB, 15 levels and 1,400 values. */
export const documentLimits = {
  /** After decompression. */
  maxBytes: 16 * 1024 * 1024,
  /** Objects and lists inside each other. */
  maxDepth: 200,
  maxValues: 500_000,
};

export interface FetchDocumentOptions {
  fetch?: typeof globalThis.fetch;
  /** For the whole response; default 10,000. */
  timeoutMs?: number;
}

/**
 * Fetches the OpenAPI document below the base URL of a service ([spec 4.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-6)).
 *
 * @param baseUrl the `baseUrl` of the client, without `/api/v1`
 * @throws {UnusableDocumentError} when the service does not respond in time with a 2xx status and a JSON object, or when the
 *   document exceeds `documentLimits`
 */
export async function fetchDocument(
  baseUrl: string,
  { fetch = globalThis.fetch, timeoutMs = 10_000 }: FetchDocumentOptions = {},
): Promise<Json> {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new UnusableDocumentError(
      "The address of the service is not a URL such as https://cards.example.com.",
    );
  }
  if (new URL(baseUrl).username !== "" || new URL(baseUrl).password !== "") {
    throw new UnusableDocumentError("The address of the service contains a user name or a password", {
      advice: "Remove it.",
    });
  }
  const address = `${baseUrl.replace(/\/+$/, "")}/api/docs/json`;
  let bytes: Uint8Array;
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) {
      await response.body?.cancel();
      throw new UnusableDocumentError(`${address} responded ${response.status}`, {
        advice: "Is this the address of the service, without /api/v1?",
      });
    }
    bytes = await readBytes(response, address);
  } catch (error) {
    if (error instanceof UnusableDocumentError) throw error;
    throw new UnusableDocumentError(`${address} does not respond: ${getMessage(error as Error)}.`, {
      cause: error,
    });
  }
  return parseDocument(bytes, address);
}

const getMessage = (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message);

/** `fetch` decompresses the body, so the bytes are counted as they arrive: `content-length` is the length of the compressed body. */
async function readBytes(response: Response, address: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > documentLimits.maxBytes) {
      throw new UnusableDocumentError(
        `${address} is larger than ${documentLimits.maxBytes / 1024 / 1024} MiB, the limit for a document.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseDocument(bytes: Uint8Array, address: string): Json {
  let document: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    checkStructure(text, address);
    document = JSON.parse(text);
  } catch (error) {
    if (error instanceof UnusableDocumentError) throw error;
  }
  if (!isRecord(document)) throw new UnusableDocumentError(`${address} is not an OpenAPI 3 document.`);
  return document;
}

const [quote, backslash, comma] = ['"', "\\", ","].map((text) => text.charCodeAt(0));
const opening = ["{", "["].map((text) => text.charCodeAt(0));
const closing = ["}", "]"].map((text) => text.charCodeAt(0));

/** Counts depth and values before `JSON.parse`, which needs up to 60 bytes for each of them. The text need not be JSON. */
function checkStructure(text: string, address: string): void {
  let depth = 0;
  let values = 0;
  let isInText = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isInText) {
      if (code === backslash) index++;
      else if (code === quote) isInText = false;
      continue;
    }
    if (code === quote) isInText = true;
    else if (code === comma) values++;
    else if (closing.includes(code)) depth--;
    else if (opening.includes(code)) {
      depth++;
      values++;
    }
    if (depth > documentLimits.maxDepth)
      throw new UnusableDocumentError(
        `${address} is nested more than ${documentLimits.maxDepth} levels deep.`,
      );
    if (values > documentLimits.maxValues)
      throw new UnusableDocumentError(
        `${address} has more than ${documentLimits.maxValues.toLocaleString("en")} values, the limit for a document.`,
      );
  }
}
