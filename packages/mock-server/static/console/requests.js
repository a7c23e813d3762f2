/** The requests of the app and what came of each, and the warnings: requests that are probably mistakes of the website. */
import { get, getPage } from "./api.js";
import { timeElement } from "./clock.js";
import { getElement, h, numberText } from "./dom.js";
import { breakable, cardLink, empty, filter, heading, pager, searchField, table } from "./parts.js";

const results = [
  ["", "All results"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
];

export const requestsPage = {
  title: "Requests",
  concerns: ["request"],
  filters: ["query", "result"],
  load: (state) => getPage("requests", state, { query: state.query, result: state.result }),

  show({ items, total }, { query, result, offset }) {
    return [
      heading(
        "Requests",
        "What your app sent to the API, newest first. Bodies, queries and keys are not recorded.",
      ),
      h(
        "div",
        { class: "filters short", role: "group", "aria-label": "Filter" },
        searchField("Search requests", "Method, path, status, reason or card id", query),
        filter("Result", "result", results, result),
      ),
      h("div", { "data-key": "list" }, requestList(items, total, query || result)),
      pager({ total, offset, noun: "requests" }),
    ];
  },
};

function requestList(items, total, isFiltered) {
  if (total === 0 && isFiltered) {
    return empty(
      "No matching requests",
      "Search for a part of a path, a status, a reason, or choose all results.",
    );
  }
  if (total === 0) {
    return empty(
      "No requests yet",
      "Configure your app with the base URL and a key. Each of its requests then appears here.",
      h("a", { class: "button primary", href: "#/" }, "Show the settings"),
    );
  }
  return table(
    "Requests, newest first",
    [["Time", "time"], ["Status", "status"], ["Request", "path"], ["Result"], ["Duration", "number"]],
    items.map(({ id, at, method, path, status, durationMs, reason, cardId }) => [
      id,
      timeElement(at),
      statusPill(status),
      [h("strong", {}, method), " ", h("code", {}, breakable(path))],
      outcome(reason, cardId),
      `${numberText(durationMs)} ms`,
    ]),
    "wide",
  );
}

const statusPill = (status) =>
  h(
    "span",
    { class: `pill ${status === undefined || status >= 400 ? "failed" : "delivered"}` },
    status === undefined ? "None" : String(status),
  );

function outcome(reason, cardId) {
  const card = cardId !== undefined && cardLink(cardId);
  if (reason === "replay") return ["Replay of ", card || "the first response"];
  if (reason === undefined) return card || "–";
  const isInjected = reason.startsWith("injected fault");
  return [isInjected ? h("a", { href: "#/faults" }, reason) : reason, card && h("small", {}, card)];
}

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
