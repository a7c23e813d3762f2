/** Reads `Retry-After`: seconds, or one of the three forms of an HTTP date (RFC 9110, 5.6.7 and 10.2.3). */

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const month = `(?<month>${months.join("|")})`;
const time = "(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)";
const dateForms = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`), // IMF-fixdate
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`), // RFC 850
  new RegExp(`^[A-Z][a-z]{2} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`), // asctime
];

/** @returns milliseconds from now, 0 for a moment that has passed, undefined when absent or malformed. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  const atMs = dateMs(value, nowMs);
  return atMs === undefined ? undefined : Math.max(0, atMs - nowMs);
}

function dateMs(value: string, nowMs: number): number | undefined {
  const found = dateForms.map((form) => form.exec(value)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return undefined;
  const [day, hour, minute, second] = ["day", "hour", "minute", "second"].map((name) => Number(found[name]));
  const year = wholeYear(found["year"] ?? "", new Date(nowMs).getUTCFullYear());
  const midnight = new Date(Date.UTC(year, months.indexOf(found["month"] ?? ""), day));
  // A day that the month does not have has become one of the next.
  if (midnight.getUTCDate() !== day) return undefined;
  return midnight.setUTCHours(hour ?? 0, minute, second);
}

/** Two digits that seem more than 50 years ahead are of the century before. */
function wholeYear(digits: string, thisYear: number): number {
  if (digits.length === 4) return Number(digits);
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
