/** Formats foreign text, values, durations and numbers for people. */

/**
 * Puts foreign text on one line of at most `maxLength` characters, so that it cannot add lines to a
 * log or control a terminal.
 */
export function toPrintable(text: string, maxLength = 100): string {
  return text
    .slice(0, maxLength)
    .replace(/[\p{Other}\p{Line_Separator}\p{Paragraph_Separator}]/gu, "\ufffd");
}

/**
 * The first characters of a text that is stored, as a copy: V8 keeps the whole text of a slice in
 * memory.
 */
export const copyStart = (text: string, maxLength: number): string =>
  text.length > maxLength ? structuredClone(text.slice(0, maxLength)) : text;

/**
 * Characters that a terminal obeys, or that hide or reorder what a person reads: C0 and C1
 * controls, line separators, and bidirectional controls. The joiners that scripts and emoji need
 * are not among them.
 */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Escapes foreign text for a terminal. */
export const escapeControls = (text: string): string =>
  text.replace(
    controls,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const missingTexts = ["undefined", "null", "NaN"];

/** What a template literal makes of a value that is missing, or that is not awaited. */
export const textsOfMissingValues: readonly unknown[] = [
  ...missingTexts,
  "[object Object]",
  "[object Promise]",
];

/** Finds such a text, or that of any other object, in a longer one. */
export const findTextOfMissingValue = (text: string): string | undefined =>
  new RegExp(`\\b(?:${missingTexts.join("|")})\\b|\\[object \\w+\\]`).exec(text)?.[0];

/** Describes a value that should be a number: the text `"10"` is none. */
export const describeValue = (value: unknown): string =>
  typeof value === "string" ? `the text ${JSON.stringify(value)}` : String(value);

/** Formats the type of a value, for a message that says what a function got. */
export function formatType(value: unknown): string {
  if (value === null) return "null";
  const isPromise = typeof value === "object" && "then" in value;
  return isPromise ? "promise (await it)" : typeof value;
}

/**
 * Formats a duration in its two largest units, rounded up to a second: `12 s`, `5 min`,
 * `2 h 30 min`, `3 d 4 h`.
 */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (hours >= 24) return joinUnits(`${Math.floor(hours / 24)} d`, hours % 24, "h");
  if (hours > 0) return joinUnits(`${hours} h`, minutes % 60, "min");
  return minutes > 0 ? joinUnits(`${minutes} min`, seconds % 60, "s") : `${seconds} s`;
}

const joinUnits = (first: string, count: number, unit: string) =>
  count === 0 ? first : `${first} ${count} ${unit}`;

let numberFormat: Intl.NumberFormat | undefined;

/**
 * Formats a number: 1,250. All calls share one format: to create it takes longer than to list a
 * hundred rows.
 */
export function formatNumber(number: number): string {
  numberFormat ??= new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
  return numberFormat.format(number).replace("-", "−");
}

/** Formats a change with its sign: +25 or −25. */
export const formatChange = (number: number): string =>
  (number > 0 ? "+" : "") + formatNumber(number);
