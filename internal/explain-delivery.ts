/** Says why a captured delivery does not verify. When its signature does not match: editors, terminals and JSON parsers change a body in known ways. */

/** By the reason of the verifier, for those that say all. */
export const explanations = {
  "missing-signature": "There is no Service-Signature header.",
  "malformed-signature": "The header is not t=<unix seconds>,v1=<64 hex digits>, once.",
  "invalid-payload":
    "The signature is valid, but the body is not an event: a JSON object with the strings id, type and createdAt.",
} as const;

/** How to undo each change, by its explanation. A change that cannot be undone gives undefined. */
const changes: Readonly<Record<string, (text: string) => string | undefined>> = {
  "without the line break at the end of the body: an editor or `echo` added it": (text) =>
    text.replace(/\r?\n$/, ""),
  "with a line break at the end of the body: it was lost in the capture": (text) => `${text}\n`,
  "with LF as line breaks: an editor or git wrote CRLF": (text) => text.replaceAll("\r\n", "\n"),
  "with CRLF as line breaks: an editor or git wrote LF": (text) => text.replace(/\r?\n/g, "\r\n"),
  "without the byte order mark at the start: an editor added it": (text) => text.replace(/^\uFEFF/, ""),
  "the compact form of this JSON: the body was formatted after it arrived": (text) => formatJson(text),
  "this JSON with an indentation of two spaces: the body was parsed and serialized again": (text) =>
    formatJson(text, 2),
};

function formatJson(text: string, indentation?: number): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, indentation);
  } catch {
    return undefined;
  }
}

/**
 * Explains a mismatch.
 * @param matches returns whether the signature matches this other body.
 * @returns undefined when no known change explains it: the secret or the body is wrong.
 */
export async function explainMismatch(
  body: Uint8Array,
  matches: (other: string) => Promise<boolean>,
): Promise<string | undefined> {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  for (const [explanation, undo] of Object.entries(changes)) {
    const other = undo(text);
    if (other !== undefined && other !== text && (await matches(other)))
      return `The signature matches ${explanation}.`;
  }
  return undefined;
}
