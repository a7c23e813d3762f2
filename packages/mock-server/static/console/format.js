/** Times, numbers, names, faults, attempts and requests as text. */

/** @type {Intl.DateTimeFormatOptions} */
const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const timeFormat = new Intl.DateTimeFormat(undefined, time);
const dayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "2-digit" });
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const formatTime = (iso) => timeFormat.format(new Date(iso));
export const formatDay = (iso) => dayFormat.format(new Date(iso));
export const formatDayTime = (iso) => `${formatDay(iso)} ${formatTime(iso)}`;
export const formatNumber = (number) => numberFormat.format(number);
export const formatChange = (number) => (number > 0 ? "+" : "") + formatNumber(number).replace("-", "−");

/** @type {[unit: string, ms: number][]} */
const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** The largest unit and the next one: "5 h 59 min". */
function formatDuration(ms) {
  const first = units.findIndex(([, length]) => ms >= length);
  if (first < 0) return "0 s";
  const [[unit, length], next] = [units[first], units[first + 1]];
  const rest = next === undefined ? 0 : Math.floor((ms % length) / next[1]);
  return `${Math.floor(ms / length)} ${unit}${rest > 0 ? ` ${rest} ${next[0]}` : ""}`;
}

/** "57 s" until a time, on the service's clock. */
export const formatUntil = (iso, now) => formatDuration(Date.parse(iso) - Date.parse(now));

export const formatWallet = (wallet) => wallet.slice(0, 1).toUpperCase() + wallet.slice(1);

/** The name in the card's fields, or else the customer's name, phone or email. */
export function getHolder({ fieldValues, customer }, template) {
  const key = template?.fields.find(({ type }) => type === "name")?.key;
  const { name, phone, email } = customer;
  return String((key && fieldValues[key]) ?? name ?? phone ?? email ?? "Unnamed customer");
}

export const isDelivered = ({ status }) => status >= 200 && status < 300;

const errorMeanings = {
  ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
  ENOTFOUND: "there is no such host (ENOTFOUND)",
  ECONNRESET: "the receiver closed the connection (ECONNRESET)",
};

/** The status of an attempt, or why there was no response. */
export const describeAttempt = ({ status = undefined, error = "no response yet" }) =>
  status === undefined ? (errorMeanings[error] ?? error) : String(status);

/** The text of a body in one line, without the tags of an error page. */
export const toLine = (body) =>
  body
    .slice(0, 1000)
    .replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** JSON is indented; other text stays as it is. */
export function indent(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** What a fault does, in the words of the presets. */
export function describeFault({ kind, phase, times, match = {}, status, delayMs, retryAfterSeconds }) {
  const names = {
    status: `${status}${retryAfterSeconds === undefined ? "" : ` Retry-After ${retryAfterSeconds}`}`,
    latency: `slow ${formatDuration(delayMs)}`,
    destroy: phase === "after-commit" ? "response lost" : "connection closed",
    duplicate: "webhook twice",
    reorder: "webhook after others",
  };
  const only = Object.values(match);
  const repeat = times === undefined ? "" : ` · ${times === 1 ? "once" : `×${times}`}`;
  return `${names[kind] ?? kind}${only.length > 0 ? ` · ${only.join(" ")}` : ""}${repeat}`;
}

/** A command for POSIX shells. A header may contain `$LOYALTY_API_KEY`. */
export function toCurl(method, url, headers, body = undefined) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const options = Object.entries(headers).map(([name, value]) =>
    value.includes("$LOYALTY_API_KEY") ? `-H "${name}: ${value}"` : `-H ${quote(`${name}: ${value}`)}`,
  );
  if (body !== undefined) options.push(`--data-raw ${quote(body)}`);
  return [`curl -i -X ${method} ${quote(url)}`, ...options].join(" \\\n  ");
}
