/** Times, names, attempts and requests as text. */
import { formatDuration } from "@loyalty-cards/internal/format";

/** @type {Intl.DateTimeFormatOptions} */
const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const timeFormat = new Intl.DateTimeFormat(undefined, time);
const dayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

export const formatTime = (iso) => timeFormat.format(new Date(iso));
/** "14:42" */
export const formatMinute = (iso) => formatTime(iso).slice(0, 5);
export const formatDay = (iso) => dayFormat.format(new Date(iso));
export const formatDayTime = (iso) => `${formatDay(iso)} ${formatTime(iso)}`;

/** Shorter, for a phone: no seconds from a minute on, and only hours from ten hours on. */
function formatShort(ms) {
  const minutes = Math.round(ms / 60_000);
  if (minutes >= 600) return `${Math.round(minutes / 60)} h`;
  return formatDuration(ms < 60_000 ? ms : minutes * 60_000);
}

/** The time until a moment, on the service's clock. */
export const formatUntil = (iso, now) => formatShort(Date.parse(iso) - Date.parse(now));

/** "6 h ahead" of real time; the browser's clock may differ by some seconds from the machine's. */
export function formatAhead(iso) {
  const ms = Date.parse(iso) - Date.now();
  return ms < 30_000 ? "" : `${formatShort(ms)} ahead`;
}

export const formatWallet = (wallet) => wallet.slice(0, 1).toUpperCase() + wallet.slice(1);

export const isDelivered = ({ status }) => status >= 200 && status < 300;

const errorMeanings = {
  ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
  ENOTFOUND: "there is no such host (ENOTFOUND)",
  ECONNRESET: "the receiver closed the connection (ECONNRESET)",
};

/** The status of an attempt, why there was no response, or that a fault made the result. */
export function describeAttempt({ status = undefined, error = "" }) {
  if (status === undefined) return errorMeanings[error] ?? (error || "no response yet");
  return error === "" ? String(status) : `${status} (${error})`;
}

/** Whether a request was sent: not where an injected fault made the result of the attempt. */
export const isSent = ({ signature = undefined }) => signature !== undefined;

/** How many attempts of a delivery were made before Resend. */
export const countEarlier = ({ attempts, failures, state }) =>
  attempts.length - failures - (state === "delivered" ? 1 : 0);

/** A character for the result of an attempt. */
export const getMark = (attempt) => (isDelivered(attempt) ? "✓" : "✕");

/** JSON is indented; other text stays as it is. */
export function indent(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
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
