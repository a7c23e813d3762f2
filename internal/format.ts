/** Formats text and bytes for HTML, logs and headers. */

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that neither HTML nor XML can contain, not even as a reference: controls, and unpaired surrogates. */
const forbidden = /[^\P{Cc}\t\n\r]|[\uFFFE\uFFFF]|\p{Cs}/gu;

/** Text for an element or a quoted attribute. Characters that HTML cannot contain become U+FFFD. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "").replace(forbidden, "\uFFFD");
}

/** Foreign text on one line, cut after `maxLength` characters: it cannot write log lines of its own, or control a terminal. */
export function toPrintable(text: string, maxLength = 100): string {
  return text.slice(0, maxLength).replace(/[\p{Other}\p{Line_Separator}\p{Paragraph_Separator}]/gu, "\ufffd");
}

/** Lower-case hexadecimal digits, two for each byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `12 s`, `5 min`, `2.5 h`, `3 days`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 6) / 10} h` : `${Math.round(minutes / 1_440)} days`;
}
