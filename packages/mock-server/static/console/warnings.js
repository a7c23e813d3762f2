/** Warnings: requests that are probably mistakes of the website. */
import { get, getPage } from "./api.js";
import { getElement, h } from "./dom.js";
import { empty, heading, pager } from "./parts.js";
import { timeElement } from "./service-clock.js";

/** The title of each type, and the page that helps to correct it: its address and its name. */
const types = {
  "replay-with-other-content": ["Idempotency key repeated with other content"],
  "unknown-fields": ["Unknown field keys", "#/templates", "Open the templates"],
  "unknown-members": ["Unknown members of the request", "api/docs", "Open the API reference"],
};

export const warningsPage = {
  title: "Warnings",
  concerns: ["warning"],
  load: (state) => getPage("warnings", state),

  show({ items, total }, { offset }) {
    return [
      heading("Warnings", "Requests that are probably mistakes of your website."),
      total === 0
        ? empty(
            "No warnings",
            "A warning appears when a request repeats an Idempotency-Key with other content (usually two people share a key, and the second one gets the first one’s card), and when its body has a field that the template or the service does not know.",
          )
        : h("ul", { class: "cards", "data-key": "list" }, items.map(warningPanel)),
      pager({ total, offset, noun: "warnings" }),
    ];
  },
};

/** Shows the number of warnings in the navigation. */
export async function showWarningCount() {
  const { total } = await get("warnings", { limit: 1 }).catch(() => ({ total: 0 })); // the page shows the error
  const badge = getElement("warning-count");
  badge.textContent = String(total);
  badge.hidden = total === 0;
}

function warningPanel({ id, type, at, message, cardId }) {
  const [title, address, label] = types[type] ?? [type];
  return h(
    "li",
    { class: "panel", "data-key": id },
    h("header", {}, h("h2", {}, title), timeElement(at)),
    h("p", {}, message),
    cardId !== undefined && action(`#/card/${encodeURIComponent(cardId)}`, "Open the card"),
    address !== undefined && action(address, label),
  );
}

const action = (href, text) => h("p", { class: "actions" }, h("a", { class: "button", href }, text));
