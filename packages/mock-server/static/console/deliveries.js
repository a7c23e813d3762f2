/** The delivery log, and one delivery: its attempts with their responses, and its body. */
import { get, post } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { plural, stateNames, statePill } from "./format.js";
import { button, copyable, empty, facts, heading, pager, pageSize, panel, table } from "./parts.js";
import { timeElement, untilText } from "./service-clock.js";

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

export const deliveryPage = {
  title: "Delivery",
  concerns: ["delivery", "endpoint", "clock"],

  async load({ id }) {
    const [delivery, endpoints] = await Promise.all([
      get(`webhooks/deliveries/${encodeURIComponent(id)}`),
      get("webhooks/endpoints"),
    ]);
    return { delivery, url: endpoints.items.find((endpoint) => endpoint.id === delivery.endpointId)?.url };
  },

  show({ delivery, url }) {
    return [
      h("p", { class: "back" }, h("a", { href: "#/deliveries" }, "← All deliveries")),
      heading(delivery.type, url ?? deletedEndpoint(delivery.endpointId), statePill(delivery.state)),
      panel("Delivery attempts", attemptProgress(delivery), deliveryDetails(delivery, url)),
    ];
  },

  actions: { resend },
};

/** The log keeps deliveries to a deleted endpoint, but not its address. */
const deletedEndpoint = (id) => `${id} (deleted)`;

async function resend(id) {
  await post(`webhooks/deliveries/${encodeURIComponent(id)}/resend`);
  showToast("The delivery is sent again.");
}

/** The address of the console with this delivery open; `?sandbox=` stays in it. */
const linkTo = (id) => new URL(`#/delivery/${encodeURIComponent(id)}`, location.href).href;

/** @param url of the endpoint; undefined when the endpoint was deleted. */
function deliveryDetails(delivery, url) {
  const { id, eventId, attempts, nextAttemptAt, body } = delivery;
  return [
    attempts.length === 0
      ? h("p", {}, "The first attempt is in progress.")
      : table(
          "Delivery attempts",
          [["#", "number"], ["Time"], ["Response"], ["Duration", "number"], ["Signature time from"]],
          attempts.map((attempt, index) => [
            String(index),
            String(index + 1),
            timeElement(attempt.at),
            responseText(attempt),
            `${attempt.durationMs} ms`,
            signedWith(attempt),
          ]),
        ),
    nextAttemptAt &&
      h("p", {}, "Next attempt ", until(nextAttemptAt), " at ", timeElement(nextAttemptAt), "."),
    url === undefined
      ? h("p", { class: "quiet" }, "The endpoint was deleted, so this delivery cannot be sent again.")
      : h("p", { class: "actions" }, button("Resend", "resend", { id })),
    facts(
      [
        "Link to this delivery",
        copyable(h("a", { href: linkTo(id) }, linkTo(id)), "the link to this delivery"),
      ],
      ["Service-Delivery", copyable(id, "the delivery's id")],
      ["Event id", copyable(eventId, "the event's id")],
    ),
    h("h3", {}, "Body"),
    h(
      "pre",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Body" },
      h("code", {}, indented(body)),
    ),
  ];
}

const until = (iso) => h("span", { "data-until": iso }, untilText(iso));

/** The first attempt and five retries (spec 3.2). */
const maxAttempts = 6;

/** One mark per attempt of the schedule: failed, delivered, or to come. */
function attemptProgress({ attempts, state, failures }) {
  const marks = Array.from({ length: maxAttempts }, (_, index) => {
    if (index < failures) return "failed";
    return state === "delivered" && index === failures ? "delivered" : "";
  });
  return h(
    "span",
    { class: "marks", role: "img", "aria-label": plural(attempts.length, "attempt") },
    marks.map((mark) => h("i", { class: mark })),
  );
}

const responseText = ({ status, error }) =>
  status === undefined ? (error ?? "No response") : String(status);

const signedWith = ({ signedWith: clock, signedAt }) => {
  if (clock === undefined) return "–";
  const name = clock === "machine" ? "this machine" : "the service";
  return [name, signedAt && [", ", timeElement(signedAt)]];
};

function indented(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
