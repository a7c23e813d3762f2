/** Creates elements, and updates the page without losing the focus, the scroll position or typed text. */

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
