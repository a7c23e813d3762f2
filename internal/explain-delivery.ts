/**
 * Explains why the signature of a captured delivery does not match: editors, terminals and JSON
 * parsers change a body in known ways.
 */

/** How to undo each change, by its explanation. A change that cannot be undone gives undefined. */
type Changes = Readonly<Record<string, (text: string) => string | undefined>>;

const changes: Changes = {
  "without the line break at the end of the body: an editor or `echo` added it": (text) =>
    text.replace(/\r?\n$/, ""),
  "with a line break at the end of the body: it was lost in the capture": (text) => `${text}\n`,
  "with LF as line breaks: an editor or git wrote CRLF": (text) => text.replaceAll("\r\n", "\n"),
  "with CRLF as line breaks: an editor or git wrote LF": (text) => text.replace(/\r?\n/g, "\r\n"),
  "without the byte order mark at the start: an editor added it": (text) =>
    text.replace(/^\uFEFF/, ""),
  "the compact form of this JSON: the body was formatted after it arrived": (text) =>
    formatJson(text),
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

/** What programs write around a whole body. They may add a line break at the end. */
const wrappings: Changes = {
  "what this base64 encodes: AWS Lambda, a log or a tool encoded the body": decodeBase64,
  "the text inside the quotes: a log or a shell quoted the body": removeQuotes,
};

function decodeBase64(text: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

function removeQuotes(text: string): string | undefined {
  const [, quote, inside = ""] = /^(["'])(.*)\1$/s.exec(text.trim()) ?? [];
  if (quote === undefined) return undefined;
  try {
    return String(JSON.parse(`"${inside}"`));
  } catch {
    return inside;
  }
}

const inUtf16 = "this text as UTF-8: the capture is UTF-16, as Windows PowerShell writes it";

/** @returns undefined when the bytes do not begin with the mark of UTF-16. */
function decodeUtf16(body: Uint8Array): string | undefined {
  const [first, second] = body;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(body);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(body);
  return undefined;
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
  const utf16 = decodeUtf16(body);
  if (utf16 !== undefined)
    for (const other of [utf16, utf16.replace(/\r?\n$/, "")])
      if (await matches(other)) return `The signature matches ${inUtf16}.`;
  const text = utf16 ?? new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  for (const [explanation, undo] of Object.entries({ ...changes, ...wrappings })) {
    const other = undo(text);
    if (other !== undefined && other !== text && (await matches(other)))
      return `The signature matches ${explanation}.`;
  }
  return undefined;
}
