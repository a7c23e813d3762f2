/** The requests of the app: what it sent, and what came of each request. */
import { getPage } from "./api.js";
import { h } from "./dom.js";
import { numberText } from "./format.js";
import { breakable, cardLink, empty, filter, heading, pager, searchField, table } from "./parts.js";
import { timeElement } from "./service-clock.js";

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
