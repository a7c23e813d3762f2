/** Says why a captured delivery does not verify. When its signature does not match: editors, terminals and JSON parsers change a body in known ways. */

/** By the reason of the verifier, for those that say all. */
export const explanations = {
  "missing-signature": "There is no Service-Signature header.",
  "malformed-signature": "The header is not t=<unix seconds>,v1=<64 hex digits>, once.",
  "invalid-payload":
    "The signature is valid, but the body is not an event: a JSON object with the strings id, type and createdAt.",
} as const;

interface BodyChange {
  /** What happened to the body, as a sentence for people. */
  explanation: string;
  /** Returns the body before this change, or undefined when the change cannot be undone. */
  undo: (text: string) => string | undefined;
}

const changes: readonly BodyChange[] = [
  {
    explanation:
      "The signature matches without the line break at the end of the body: an editor or `echo` added it.",
    undo: (text) => text.replace(/\r?\n$/, ""),
  },
  {
    explanation:
      "The signature matches with a line break at the end of the body: it was lost in the capture.",
    undo: (text) => `${text}\n`,
  },
  {
    explanation: "The signature matches with LF as line breaks: an editor or git wrote CRLF.",
    undo: (text) => text.replaceAll("\r\n", "\n"),
  },
  {
    explanation: "The signature matches with CRLF as line breaks: an editor or git wrote LF.",
    undo: (text) => text.replace(/\r?\n/g, "\r\n"),
  },
  {
    explanation: "The signature matches without the byte order mark at the start: an editor added it.",
    undo: (text) => text.replace(/^\uFEFF/, ""),
  },
  {
    explanation:
      "The signature matches the compact form of this JSON: the body was formatted after it arrived.",
    undo: (text) => formatJson(text),
  },
  {
    explanation:
      "The signature matches this JSON with an indentation of two spaces: the body was parsed and serialized again.",
    undo: (text) => formatJson(text, 2),
  },
];

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
  for (const { explanation, undo } of changes) {
    const other = undo(text);
    if (other !== undefined && other !== text && (await matches(other))) return explanation;
  }
  return undefined;
}
