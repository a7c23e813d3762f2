/** The parts of several pages: headings, empty states, fields, buttons, tables, pages of a list; confirmations, secrets, short messages and the clipboard. */
import { addressWith, pageSize } from "./api.js";
import { getElement, h, numberText } from "./dom.js";

/**
 * @param {import("./dom.js").Child} label
 * @param {string} action the name of the function in `actions` of the page.
 * @param {Record<string, any> & { kind?: string }} attributes `id` is passed to the function.
 */
export const button = (label, action, { id, kind = "", ...attributes } = {}) =>
  h("button", { type: "button", class: kind, "data-action": action, "data-id": id, ...attributes }, label);

/** The title of a page, its purpose, and the actions for the whole page. */
export const heading = (title, purpose, ...actions) =>
  h(
    "header",
    { class: "heading" },
    h("div", {}, h("h1", {}, title), h("p", {}, purpose)),
    actions.length > 0 && h("div", { class: "actions" }, actions),
  );

export const panel = (title, ...content) =>
  h("section", { class: "panel", "data-key": `panel-${title}` }, title && h("h2", {}, title), content);

/** Shown in place of an empty list: what to do next. */
export const empty = (what, next, ...actions) =>
  h("div", { class: "empty" }, h("p", { class: "what" }, what), h("p", {}, next), actions);

/**
 * A labelled input with a hint and a place for its error message.
 * @param {string} label
 * @param {string} name
 * @param {Record<string, any> & { options?: readonly (string | readonly string[])[] }} attributes each option is a value, or a value and its label.
 */
export function field(label, name, { hint, options, chosen, ...attributes } = {}) {
  const id = attributes.id ?? `field-${name}`;
  const input = options
    ? h(
        "select",
        { ...attributes, id, name },
        options.map((option) => optionElement(option, chosen)),
      )
    : h("input", { type: "text", autocomplete: "off", ...attributes, id, name });
  return h(
    "p",
    { class: "field", "data-key": `field-${name}` },
    h("label", { for: id }, label),
    input,
    hint && h("small", {}, hint),
    h("span", { class: "form-error", "data-error": name, "data-keep": true }),
  );
}

const optionElement = (option, chosen) => {
  const [value, label] = Array.isArray(option) ? option : [option, option];
  return h("option", { value, selected: value === chosen, "data-key": `option-${value}` }, label);
};

export const checkbox = (label, name, attributes = {}) =>
  h("label", { class: "check" }, h("input", { type: "checkbox", name, ...attributes }), label);

/** @param submit the name of the function in `submits` of the page. */
export const form = (submit, submitLabel, content, attributes = {}) =>
  h(
    "form",
    { "data-submit": submit, "data-key": `form-${submit}`, novalidate: true, ...attributes },
    content,
    h("p", { class: "form-error", "data-error": "", role: "alert", "data-keep": true }),
    h("p", { class: "submit" }, h("button", { class: "primary" }, submitLabel)),
  );

/** Something to be copied: monospace text, and a button that does it. */
export const copyable = (text, label) =>
  h(
    "span",
    { class: "copyable" },
    h("code", {}, text),
    h(
      "button",
      { type: "button", "data-action": "copy", "aria-label": `Copy ${label}`, class: "small" },
      "Copy",
    ),
  );

export const facts = (...rows) =>
  h(
    "dl",
    { class: "facts" },
    rows
      .filter(Boolean)
      .map(([name, value]) =>
        h("div", { "data-key": `fact-${name}` }, h("dt", {}, name), h("dd", {}, value)),
      ),
  );

/** The position in a long list, with links to the first, the last and the neighbouring pages. */
export function pager({ total, offset, noun }) {
  if (total <= pageSize) return null;
  const current = offset / pageSize + 1;
  const last = Math.ceil(total / pageSize);
  const numbers = [1, current - 1, current, current + 1, last].filter(
    (number, index, all) => number >= 1 && number <= last && all.indexOf(number) === index,
  );
  return h(
    "nav",
    { class: "pager", "aria-label": `Pages of ${noun}` },
    h(
      "span",
      {},
      `${numberText(offset + 1)}–${numberText(Math.min(offset + pageSize, total))} of ${numberText(total)}`,
    ),
    h(
      "ol",
      {},
      numbers.map((number, index) =>
        h(
          "li",
          { "data-key": `page-${number}` },
          index > 0 && number - numbers[index - 1] > 1 && h("span", { "aria-hidden": "true" }, "… "),
          pageLink(number, number === current),
        ),
      ),
    ),
  );
}

const pageLink = (number, isCurrent) =>
  h(
    "a",
    {
      href: addressWith({ page: String(number) }),
      "aria-label": `Page ${numberText(number)}`,
      "aria-current": isCurrent ? "page" : undefined,
    },
    numberText(number),
  );

/** The search field of a list; the words are in the address. */
export const searchField = (label, placeholder, words = "") =>
  h(
    "p",
    { class: "search", "data-key": "search" },
    h("label", { for: "search", class: "hidden" }, label),
    h("input", {
      id: "search",
      name: "query",
      type: "search",
      "data-filter": "query",
      value: words,
      placeholder,
      autocomplete: "off",
    }),
  );

/** A choice that filters a list; the value is in the address. @param options `[value, label]`. */
export const filter = (label, name, options, chosen = "") =>
  h(
    "label",
    { "data-key": `filter-${name}` },
    h("span", {}, label),
    h(
      "select",
      { "data-filter": name, name },
      options.map((option) => optionElement(option, chosen)),
    ),
  );

/** Text to be copied as it is, such as a body. */
export const block = (title, text) =>
  h(
    "section",
    { class: "block", "data-key": `block-${title}` },
    h("h3", {}, title),
    h("pre", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, h("code", {}, text)),
    h(
      "button",
      { type: "button", class: "small", "data-action": "copy", "aria-label": `Copy: ${title}` },
      "Copy",
    ),
  );

/** Lets a long address or path continue on the next line after a slash or a dot. */
export const breakable = (url) => url.split(/(?<=[/.])/).map((part) => [part, h("wbr")]);

export const cardLink = (id) => h("a", { href: `#/card/${encodeURIComponent(id)}` }, id);

/** A table that scrolls sideways on a phone. @param columns `[title, class]`; @param rows `[key, ...cells]`; @param kind a class. */
export const table = (caption, columns, rows, kind = "") =>
  h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      { class: kind || undefined },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([key, ...cells]) =>
          h(
            "tr",
            { "data-key": key },
            cells.map((cell, index) => h("td", { class: columns[index]?.[1] }, cell)),
          ),
        ),
      ),
    ),
  );

/** @returns whether the user confirmed. */
export const confirmAction = (question, consequence, label) =>
  openDialog(
    h("h2", {}, question),
    h("p", {}, consequence),
    h(
      "form",
      { method: "dialog", class: "actions" },
      h("button", { value: "no", autofocus: true }, "Keep as it is"),
      h("button", { value: "yes", class: "danger" }, label),
    ),
  ).then((value) => value === "yes");

/** Shows a secret, which is on the page only while the dialog is open. */
export const showSecret = (title, text, explanation) =>
  openDialog(
    h("h2", {}, title),
    h("p", {}, explanation),
    h("p", { class: "secret" }, copyable(text, "it")),
    h("form", { method: "dialog", class: "actions" }, h("button", { class: "primary" }, "I have copied it")),
  );

function openDialog(...content) {
  const dialog = h("dialog", {}, content);
  const title = /** @type {HTMLElement} */ (dialog.querySelector("h2"));
  title.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", title.id);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

const toastMs = 5000;

/** @returns a function that replaces the text, for a result that comes later. */
export function showToast(text, kind = "done") {
  const toast = h("p", {});
  let timer;
  const show = (words, nextKind) => {
    toast.className = `toast ${nextKind}`;
    toast.textContent = words;
    getElement("toasts").append(toast);
    clearTimeout(timer);
    timer = setTimeout(() => toast.remove(), nextKind === "error" ? 2 * toastMs : toastMs);
  };
  show(text, kind);
  return show;
}

/** Copies the text beside the button. */
export async function copyBeside(pressed) {
  const source = pressed.previousElementSibling;
  if (await copied(source.textContent)) return;
  getSelection()?.selectAllChildren(source);
  showToast("Selected: press Ctrl+C or ⌘C to copy it.");
}

/** Copies a text that is not on the page; shows it when the browser does not allow copying. */
export async function copyText(text, title) {
  if (await copied(text)) return;
  await showSecret(title, text, "The browser does not allow this page to copy. Select the text and copy it.");
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return false;
  }
  showToast("Copied.");
  return true;
}
