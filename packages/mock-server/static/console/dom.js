/** Creates elements, updates the page without losing the focus, the scroll position or typed text, and formats times, numbers, states and names. */

/**
 * What `h` and `patch` take, also in lists: null, undefined and false are left out.
 * @typedef {Node | string | number | null | undefined | false | readonly any[]} Child
 */

/**
 * Creates an element. Attributes that are undefined, null or false are left out.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | number | boolean | null | undefined>} attributes
 * @param {Child[]} children
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    element.setAttribute(attribute, value === true ? "" : String(value));
  }
  element.append(...toNodes(children)); // strings become text nodes: nothing is parsed as HTML
  return element;
}

/**
 * Returns an element that every page has.
 * @param {string} id
 */
export const getElement = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Returns the nearest element around the target of an event that matches the selector.
 * @param {Event} event
 * @param {string} selector
 * @returns {any} the element, or null
 */
export const findTarget = ({ target }, selector) => /** @type {Element} */ (target).closest(selector);

/**
 * Replaces the children of an element, and reuses the elements that are there already.
 * @param {Element} target
 * @param {Child[]} children
 */
export function patch(target, ...children) {
  morphChildren(target, toNodes(children));
}

function toNodes(children) {
  return children
    .flat(Number.POSITIVE_INFINITY)
    .filter((child) => child !== undefined && child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

function morphChildren(target, wanted) {
  const keyed = new Map();
  for (const child of target.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  let at = target.firstChild;
  for (const node of wanted) {
    const key = node.dataset?.key;
    const match = key ? keyed.get(key) : at;
    if (!match || !areAlike(match, node)) {
      target.insertBefore(node, at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else target.insertBefore(match, at);
    morph(match, node);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const areAlike = (a, b) => a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key;

/** Attributes set by the user or by an error response; an update of the page does not remove them. */
const keptAttributes = new Set(["open", "aria-invalid", "aria-busy"]);

function morph(element, wanted) {
  if (!(element instanceof Element)) {
    if (element.data !== wanted.data) element.data = wanted.data;
    return;
  }
  for (const { name } of [...element.attributes]) {
    if (!wanted.hasAttribute(name) && !keptAttributes.has(name)) element.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  // Rows that the user added to a form, and its error messages, stay as they are.
  if (!element.hasAttribute("data-keep")) morphChildren(element, [...wanted.childNodes]);
}

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
