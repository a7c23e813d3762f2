/** The delivery log: each event that was sent to an endpoint, with its state and last response. */
import { get, getPage } from "./api.js";
import {
  attemptProgress,
  deletedEndpoint,
  deliveryActions,
  deliveryDetails,
  readCardId,
  until,
} from "./delivery.js";
import { h } from "./dom.js";
import { responseText, stateNames, statePill } from "./format.js";
import { empty, filter, heading, pager, searchField } from "./parts.js";
import { timeElement } from "./service-clock.js";

export const deliveriesPage = {
  title: "Deliveries",
  concerns: ["delivery", "endpoint", "clock"],
  filters: ["query", "endpointId", "type", "state"],

  async load(visit) {
    const { query, endpointId, type, state } = visit;
    const [deliveries, endpoints, settings] = await Promise.all([
      getPage("webhooks/deliveries", visit, { query, endpointId, type, state }),
      get("webhooks/endpoints"),
      get("settings"),
    ]);
    return { deliveries, endpoints: endpoints.items, events: settings.events };
  },

  show({ deliveries, endpoints, events }, visit) {
    const urls = new Map(endpoints.map(({ id, url }) => [id, url]));
    const choices = new Map(urls);
    const chosen = visit.endpointId;
    if (chosen && !urls.has(chosen)) choices.set(chosen, deletedEndpoint(chosen));
    return [
      heading("Deliveries", "The events that were sent to each endpoint, newest first."),
      h(
        "div",
        { class: "filters", role: "group", "aria-label": "Filter" },
        searchField("Search deliveries", "Event id, card id, or other text of the body", visit.query),
        filter("State", "state", [["", "All states"], ...Object.entries(stateNames)], visit.state),
        filter("Event", "type", [["", "All events"], ...events.map((type) => [type, type])], visit.type),
        filter("Endpoint", "endpointId", [["", "All endpoints"], ...choices], visit.endpointId),
      ),
      h("div", { "data-key": "list" }, deliveryList(deliveries, endpoints, urls, visit)),
      pager({ total: deliveries.total, offset: visit.offset, noun: "deliveries" }),
    ];
  },

  actions: deliveryActions,
};

function deliveryList({ items, total }, endpoints, urls, { query, state, type, endpointId }) {
  if (total === 0 && (query || state || type || endpointId))
    return empty("No matching deliveries", "Change the search or the filters.");
  if (total === 0 && endpoints.length === 0) {
    return empty(
      "No endpoints",
      "Events are sent to the endpoints that subscribe to them.",
      h("a", { class: "button primary", href: "#/webhooks" }, "Add an endpoint"),
    );
  }
  if (total === 0) {
    return empty(
      "No deliveries yet",
      "Send a test from the endpoint, or record a purchase on a card.",
      h("a", { class: "button primary", href: "#/webhooks" }, "Send a test"),
      h("a", { class: "button", href: "#/cards" }, "Cards"),
    );
  }
  return h(
    "div",
    { class: "log" },
    items.map((delivery) => entry(delivery, urls.get(delivery.endpointId))),
  );
}

function entry(delivery, url) {
  const { id, eventId, type, state, endpointId, attempts, nextAttemptAt } = delivery;
  const last = attempts.at(-1);
  return h(
    "details",
    { class: "entry", "data-key": id },
    h(
      "summary",
      {},
      statePill(state),
      h(
        "span",
        { class: "entry-event" },
        type,
        h("small", { class: "entry-card" }, readCardId(delivery) ?? "No card"),
      ),
      h("span", { class: "entry-ids" }, eventId, h("small", {}, url ?? deletedEndpoint(endpointId))),
      attemptProgress(delivery),
      h("span", { class: "entry-response" }, last === undefined ? "In progress" : responseText(last, url)),
      h(
        "span",
        { class: "entry-next" },
        nextAttemptAt ? ["Next ", until(nextAttemptAt)] : last && timeElement(last.at),
      ),
    ),
    h("div", { class: "entry-inside" }, deliveryDetails(delivery, url)),
  );
}
