/** The delivery log: every delivery with its last response, and when the next attempt is. */
import { get } from "./api.js";
import {
  attemptProgress,
  deletedEndpoint,
  deliveryDetails,
  resend,
  responseText,
  until,
} from "./delivery.js";
import { h } from "./dom.js";
import { stateNames, statePill } from "./format.js";
import { empty, heading, pager, pageSize } from "./parts.js";
import { timeElement } from "./service-clock.js";

export const deliveriesPage = {
  title: "Deliveries",
  concerns: ["delivery", "endpoint", "clock"],

  async load(visit) {
    visit.endpointId ??= visit.id; // the address may name an endpoint
    const { endpointId, type, state, offset } = visit;
    const [deliveries, endpoints, settings] = await Promise.all([
      get("webhooks/deliveries", { endpointId, type, state, offset, limit: pageSize }),
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
        filter("State", "state", [["", "All states"], ...Object.entries(stateNames)], visit.state),
        filter("Event", "type", [["", "All events"], ...events.map((type) => [type, type])], visit.type),
        filter("Endpoint", "endpointId", [["", "All endpoints"], ...choices], visit.endpointId),
      ),
      h("div", { "data-key": "list" }, deliveryList(deliveries, endpoints, urls, visit)),
      pager({ total: deliveries.total, offset: visit.offset, noun: "deliveries" }),
    ];
  },

  actions: { resend },
};

const filter = (label, name, options, chosen = "") =>
  h(
    "label",
    {},
    h("span", {}, label),
    h(
      "select",
      { "data-filter": name, name },
      options.map(([value, text]) =>
        h("option", { value, selected: value === chosen, "data-key": `option-${value}` }, text),
      ),
    ),
  );

function deliveryList({ items, total }, endpoints, urls, { state, type, endpointId }) {
  if (total === 0 && (state || type || endpointId))
    return empty("No matching deliveries", "Change the filters.");
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
      h("a", { class: "button", href: "#/cards" }, "Open a card"),
    );
  }
  return h(
    "div",
    { class: "log" },
    items.map((delivery) => entry(delivery, urls.get(delivery.endpointId))),
  );
}

function entry(delivery, url) {
  const { id, type, state, endpointId, attempts, nextAttemptAt } = delivery;
  const last = attempts.at(-1);
  return h(
    "details",
    { class: "entry", "data-key": id },
    h(
      "summary",
      {},
      statePill(state),
      h("span", { class: "entry-event" }, type),
      h("span", { class: "entry-url" }, url ?? deletedEndpoint(endpointId)),
      attemptProgress(delivery),
      h("span", { class: "entry-response" }, last === undefined ? "In progress" : responseText(last)),
      h(
        "span",
        { class: "entry-next" },
        nextAttemptAt ? ["Next ", until(nextAttemptAt)] : last && timeElement(last.at),
      ),
    ),
    h("div", { class: "entry-inside" }, deliveryDetails(delivery, url)),
  );
}
