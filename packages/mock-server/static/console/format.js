/** Times, numbers, names, faults, attempts and requests as text. */

/** @type {Intl.DateTimeFormatOptions} */
const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const timeFormat = new Intl.DateTimeFormat(undefined, time);
const dayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "2-digit" });
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const formatTime = (iso) => timeFormat.format(new Date(iso));
/** "14:42" */
export const formatMinute = (iso) => formatTime(iso).slice(0, 5);
export const formatDay = (iso) => dayFormat.format(new Date(iso));
export const formatDayTime = (iso) => `${formatDay(iso)} ${formatTime(iso)}`;
export const formatNumber = (number) => numberFormat.format(number);
export const formatChange = (number) =>
  (number > 0 ? "+" : "") + formatNumber(number).replace("-", "−");

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

/** "4 min 57 s" until a time, on the service's clock. */
export const formatUntil = (iso, now) => formatDuration(Date.parse(iso) - Date.parse(now));

/** The same in the largest unit: "5 min". */
export function formatSoon(iso, now) {
  const ms = Math.max(0, Date.parse(iso) - Date.parse(now));
  const [unit, length] = units.find(([, each]) => ms >= each) ?? ["s", 1000];
  return `${Math.round(ms / length)} ${unit}`;
}

export const formatWallet = (wallet) => wallet.slice(0, 1).toUpperCase() + wallet.slice(1);

/** The address of a receiver, of this machine without its name: ":3000/webhooks". */
export const formatAddress = (url) => url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, "");

export const isDelivered = ({ status }) => status >= 200 && status < 300;

const errorMeanings = {
  ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
  ENOTFOUND: "there is no such host (ENOTFOUND)",
  ECONNRESET: "the receiver closed the connection (ECONNRESET)",
};

/** The status of an attempt, or why there was no response. */
export const describeAttempt = ({ status = undefined, error = "no response yet" }) =>
  status === undefined ? (errorMeanings[error] ?? error) : String(status);

/** JSON is indented; other text stays as it is. */
export function indent(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** What a fault does, in the words of the presets. */
export function describeFault({
  kind,
  phase,
  times,
  match = {},
  status,
  delayMs,
  retryAfterSeconds,
}) {
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

/** The shell replaces the variable by the key. */
export const bearer = "Bearer $LOYALTY_API_KEY";

/** Quotes a text for POSIX shells. The only variable is that of `bearer`. */
const quote = (text) =>
  text === `authorization: ${bearer}` ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`;

/** A command for POSIX shells. */
export function toCurl(method, url, headers, body = undefined) {
  const options = Object.entries(headers).map(
    ([name, value]) => `-H ${quote(`${name}: ${value}`)}`,
  );
  if (body !== undefined) options.push(`--data-raw ${quote(body)}`);
  return [`curl -i -X ${method} ${quote(url)}`, ...options].join(" \\\n  ");
}
