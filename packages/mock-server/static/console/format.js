/** Formats times, numbers, states and names. */
import { h } from "./dom.js";

/** @type {Intl.DateTimeFormatOptions} */
const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const timeFormat = new Intl.DateTimeFormat(undefined, time);
/** @type {Intl.DateTimeFormatOptions} */
const dayTime = { ...time, month: "short", day: "2-digit" };
const dayTimeFormat = new Intl.DateTimeFormat(undefined, dayTime);
const dateTimeFormat = new Intl.DateTimeFormat(undefined, { ...dayTime, year: "numeric" });
const fullFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: "full",
  timeStyle: "long",
  hourCycle: "h23",
});
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const numberText = (number) => numberFormat.format(number);
export const signed = (number) =>
  number > 0 ? `+${numberText(number)}` : numberText(number).replace("-", "−");
export const dateTimeText = (at) => dateTimeFormat.format(new Date(at));
/** With weekday and time zone. */
export const fullTimeText = (at) => fullFormat.format(new Date(at));
/** Without the date on the day of `nowMs`, and without the year in its year, in the browser's time zone. */
export function timeText(at, nowMs) {
  const [date, now] = [new Date(at), new Date(nowMs)];
  if (date.toDateString() === now.toDateString()) return timeFormat.format(date);
  return date.getFullYear() === now.getFullYear() ? dayTimeFormat.format(date) : dateTimeText(at);
}

/** @type {[unit: string, length: number][]} */
const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** The two largest units: "5 h 59 min". */
export function durationText(ms) {
  const parts = [];
  let rest = Math.max(0, ms);
  for (const [unit, length] of units) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

export const stateNames = { pending: "Pending", delivered: "Delivered", failed: "Failed" };
export const statePill = (state) => h("span", { class: `pill ${state}` }, stateNames[state] ?? state);

export const customerName = ({ name, phone, email }) => name || phone || email || "Unnamed customer";
export const walletName = (wallet) => `${wallet.slice(0, 1).toUpperCase()}${wallet.slice(1)}`;
export const walletTitle = (wallet) => `${walletName(wallet)} Wallet`;
export const plural = (count, noun) => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What an error of the network means; the code alone tells it only to some readers. */
const errorMeanings = {
  ECONNREFUSED: ({ port, protocol }) =>
    `nothing listens on port ${port || (protocol === "https:" ? 443 : 80)}`,
  ENOTFOUND: ({ hostname }) => `there is no host ${hostname}`,
  ECONNRESET: () => "the receiver closed the connection",
};

/** The status of an attempt, or why there was no response. @param url of the endpoint, if it still exists. */
export function responseText({ status, error = "No response" }, url = undefined) {
  if (status !== undefined) return String(status);
  if (url === undefined || !Object.hasOwn(errorMeanings, error)) return error;
  return `${error}: ${errorMeanings[error](new URL(url))}`;
}
