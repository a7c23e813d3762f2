/** Fetches the OpenAPI document that a service serves, and checks it: it is foreign. */
import { getMember, isRecord, type Json, recordIn } from "./document.ts";

const timeoutMs = 10_000;
const maxCharacters = 10_000_000;

/**
 * Fetches the document below the base URL of a service ([spec
 * 4.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-6)).
 *
 * @param baseUrl the `baseUrl` of the client, without `/api/v1`
 * @throws {Error} when the service does not respond in time with an OpenAPI 3 document that has
 * all its references in itself
 */
export async function fetchDocument(baseUrl: string): Promise<Json> {
  const address = toAddress(baseUrl);
  const text = await fetchText(address);
  const document = parseDocument(text, address);
  const version = isRecord(document) ? document["openapi"] : undefined;
  if (!isRecord(document) || !/^3\./.test(String(version)))
    throw new Error(`${address} is not an OpenAPI 3 document.`);
  return document;
}

function toAddress(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Error("--from is not a URL such as https://cards.example.com.");
  if (url.username !== "" || url.password !== "")
    throw new Error("--from contains a user name or a password.");
  return `${baseUrl.replace(/\/+$/, "")}/api/docs/json`;
}

async function fetchText(address: string): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(address, { signal }).catch((error) => {
    throw new Error(`${address} does not respond: ${(error.cause ?? error).message}.`);
  });
  if (!response.ok)
    throw new Error(
      `${address} responded ${response.status}. Is this the address of the service, without /api/v1?`,
    );
  let text = "";
  try {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.length > maxCharacters) break;
    }
  } catch (error) {
    throw new Error(`The response of ${address} ended early: ${error}.`);
  }
  if (text.length > maxCharacters)
    throw new Error(`${address} is larger than ${maxCharacters} characters.`);
  return text;
}

/** @throws {Error} when the text is not JSON, or the document is not safe to convert. */
function parseDocument(text: string, address: string): unknown {
  try {
    return JSON.parse(text, toSafeValue);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error(`${address} is not an OpenAPI 3 document.`);
    throw new Error(`${address} cannot be used: ${(error as Error).message}`);
  }
}

/** What a terminal obeys, and what makes source code look like other code. */
const controlCharacters = /(?![\n\r\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * For `JSON.parse`: the names and texts of a document end in source code and messages, and
 * openapi-typescript would read the files and addresses to which the document refers.
 */
function toSafeValue(name: string, value: unknown): unknown {
  if (name.search(controlCharacters) >= 0)
    throw new Error("The name of a member contains a control character.");
  if (name === "discriminator" && isRecord(getMember(value, "mapping"))) return withPointers(value);
  if (typeof value !== "string") return value;
  const text = value.replaceAll(controlCharacters, " ");
  if (name === "$ref" || name === "externalValue") checkReference(text);
  return text;
}

/** The mapping of a discriminator has pointers or, as openapi-typescript does not know, names. */
function withPointers(discriminator: unknown): Json {
  const mapping = Object.entries(recordIn(discriminator, "mapping")).map(([value, target]) => {
    const isName = /^[\w.-]+$/.test(String(target));
    const reference = isName ? `#/components/schemas/${target}` : String(target);
    checkReference(reference);
    return [value, reference];
  });
  return { ...(discriminator as Json), mapping: Object.fromEntries(mapping) };
}

function checkReference(reference: string): void {
  if (reference.startsWith("#/")) return;
  const shown = JSON.stringify(reference.slice(0, 200));
  throw new Error(`It refers to ${shown}, which is not in the document.`);
}
