/** Says times, numbers and states as people read them. */
import { h } from "./dom.js";

const clockFormat = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const numberText = (number) => numberFormat.format(number);
export const signed = (number) =>
  number > 0 ? `+${numberText(number)}` : numberText(number).replace("-", "−");
export const timeText = (at) => clockFormat.format(new Date(at));
export const timeOf = (iso) => h("time", { datetime: iso, title: iso }, timeText(iso));

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

export const customerName = ({ name, phone, email }) => name || phone || email || "Nameless customer";
export const walletTitle = (wallet) => `${wallet.slice(0, 1).toUpperCase()}${wallet.slice(1)} Wallet`;
export const plural = (count, noun) => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;
