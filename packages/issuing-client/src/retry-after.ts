/** Reads `Retry-After`: seconds, or one of the three forms of an HTTP date (RFC 9110, 5.6.7 and 10.2.3). */

const months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
const dateForms = [
  new RegExp(`^[A-Z][a-z]{2}, \\d{2} (${months}) \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`), // IMF-fixdate
  new RegExp(`^[A-Z][a-z]{5,8}, \\d{2}-(${months})-\\d{2} \\d{2}:\\d{2}:\\d{2} GMT$`), // RFC 850
  new RegExp(`^[A-Z][a-z]{2} (${months}) [ \\d]\\d \\d{2}:\\d{2}:\\d{2} \\d{4}$`), // asctime
];

/** @returns milliseconds from now, 0 for a moment that has passed, undefined when absent or malformed. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const value = header.trim();
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  if (!dateForms.some((form) => form.test(value))) return undefined;
  const atMs = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
