/** Warnings: requests that are probably mistakes of the website. */
import { get, getPage } from "./api.js";
import { getElement, h } from "./dom.js";
import { empty, heading, pager } from "./parts.js";
import { timeElement } from "./service-clock.js";

const titles = {
  "replay-with-other-content": "Idempotency key repeated with other content",
  "unknown-fields": "Unknown field keys",
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
            "A warning appears when a request repeats an Idempotency-Key with other content (usually two people share a key, and the second one gets the first one’s card), and when fieldValues has a key that the template does not have.",
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

const warningPanel = ({ id, type, at, message, cardId }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h("header", {}, h("h2", {}, titles[type] ?? type), timeElement(at)),
    h("p", {}, message),
    cardId !== undefined && action(`#/card/${encodeURIComponent(cardId)}`, "Open the card"),
    type === "unknown-fields" && action("#/templates", "Open the templates"),
  );

const action = (href, text) => h("p", { class: "actions" }, h("a", { class: "button", href }, text));
