/** What a response says, as one line of a list or a terminal. */

/** The members of JSON that may explain an error; the first one that is present counts. */
const explanations = ["error", "message", "detail", "title"];

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " " };

/**
 * Returns the explanation of JSON, the text of HTML without its tags, and other text as it is. What
 * is cut ends with `…`. A caller that prints to a terminal escapes the result.
 * @param maxLength in characters.
 */
export function toLine(body: string, maxLength = 200): string {
  const text = findExplanation(body) ?? (body.trimStart().startsWith("<") ? toText(body) : body);
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

/** @returns undefined for what is no JSON object, or explains nothing. */
function findExplanation(body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  for (let depth = 0; depth < 2; depth++) {
    if (typeof value !== "object" || value === null) break;
    const members = value as Record<string, unknown>;
    const name = explanations.find((known) => members[known]);
    if (name === undefined) return undefined;
    value = members[name]; // some APIs nest it: { error: { message } }
  }
  return typeof value === "string" ? value : undefined;
}

/** Removes the tags, and the title of the page, which would repeat its text. */
const toText = (html: string): string =>
  html
    .replace(/<(style|script|title)\b[\s\S]*?(?:<\/\1>|$)|<[^>]*>?/gi, " ")
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, decodeEntity);

function decodeEntity(entity: string, decimal?: string, hexadecimal?: string, name = ""): string {
  const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hexadecimal ?? "", 16);
  if (Number.isNaN(code)) return entities[name.toLowerCase()] ?? entity;
  return code <= 0x10ffff ? String.fromCodePoint(code) : entity;
}
