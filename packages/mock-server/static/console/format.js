/** Times, names, attempts and requests as text. */

/** @type {Intl.DateTimeFormatOptions} */
const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const timeFormat = new Intl.DateTimeFormat(undefined, time);
const dayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

export const formatTime = (iso) => timeFormat.format(new Date(iso));
/** "14:42" */
export const formatMinute = (iso) => formatTime(iso).slice(0, 5);
export const formatDay = (iso) => dayFormat.format(new Date(iso));
export const formatDayTime = (iso) => `${formatDay(iso)} ${formatTime(iso)}`;

export const formatWallet = (wallet) => wallet.slice(0, 1).toUpperCase() + wallet.slice(1);

export const isDelivered = ({ status }) => status >= 200 && status < 300;

const errorMeanings = {
  ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
  ENOTFOUND: "there is no such host (ENOTFOUND)",
  ECONNRESET: "the receiver closed the connection (ECONNRESET)",
};

/** The status of an attempt, why there was no response, or that a fault made the result. */
export function describeAttempt({ status = undefined, error = "" }) {
  if (status === undefined) return errorMeanings[error] ?? error;
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
