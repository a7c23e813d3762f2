/** The requests of the app: what it sent, and what came of each request. */
import { getPage } from "./api.js";
import { h } from "./dom.js";
import { numberText } from "./format.js";
import { cardLink, empty, filter, heading, pager, searchField, table } from "./parts.js";
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
        "What your app sent to the API, newest first, and what came of it. Bodies, queries and keys are not recorded.",
      ),
      h(
        "div",
        { class: "filters", role: "group", "aria-label": "Filter" },
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
    [["Time"], ["Status"], ["Request"], ["What came of it"], ["Card"], ["Duration", "number"]],
    items.map(({ id, at, method, path, status, durationMs, reason, cardId }) => [
      id,
      timeElement(at),
      statusPill(status),
      [h("strong", {}, method), " ", h("code", {}, path)],
      outcome(reason, cardId),
      cardId === undefined ? "–" : cardLink(cardId),
      `${numberText(durationMs)} ms`,
    ]),
    "requests",
  );
}

const statusPill = (status) =>
  h(
    "span",
    { class: `pill ${status === undefined || status >= 400 ? "failed" : "delivered"}` },
    status === undefined ? "None" : String(status),
  );

function outcome(reason, cardId) {
  if (reason === undefined) return "–";
  if (reason === "replay")
    return ["Replay of ", cardId === undefined ? "the first response" : cardLink(cardId)];
  if (reason.startsWith("injected fault")) return h("a", { href: "#/faults" }, reason);
  return reason;
}
