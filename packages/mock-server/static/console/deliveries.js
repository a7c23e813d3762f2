/** The delivery log: every attempt with its answer and its time, and what comes next. */
import { get, post } from "./api.js";
import { told } from "./dialogs.js";
import { h } from "./dom.js";
import { plural, stateNames, statePill } from "./format.js";
import { button, copyable, empty, facts, heading, pager, pageSize, table } from "./parts.js";
import { timeOf, untilText } from "./service-clock.js";

/** The first attempt and five retries (spec 3.2). */
const attemptsInAll = 6;

export const deliveriesRoom = {
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
    return [
      heading("Deliveries", "Every event on its way to every endpoint, newest first."),
      h(
        "div",
        { class: "filters", role: "group", "aria-label": "Filter" },
        filter("State", "state", [["", "All states"], ...Object.entries(stateNames)], visit.state),
        filter("Event", "type", [["", "All events"], ...events.map((type) => [type, type])], visit.type),
        filter("Endpoint", "endpointId", [["", "All endpoints"], ...urls], visit.endpointId),
      ),
      h("div", { "data-key": "list" }, listOf(deliveries, endpoints, urls, visit)),
      pager({ total: deliveries.total, offset: visit.offset, noun: "deliveries" }),
    ];
  },

  actions: {
    async resend(id) {
      await post(`webhooks/deliveries/${encodeURIComponent(id)}/resend`);
      told("It is on its way again.");
    },
  },
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

function listOf({ items, total }, endpoints, urls, { state, type, endpointId }) {
  if (total === 0 && (state || type || endpointId))
    return empty("No such deliveries", "Choose other filters.");
  if (total === 0 && endpoints.length === 0) {
    return empty(
      "Nothing to deliver to",
      "Add an endpoint: events go to the endpoints that chose them.",
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

function entry(delivery, url = delivery.endpointId) {
  const { id, type, state, attempts, nextAttemptAt } = delivery;
  return h(
    "details",
    { class: "entry", "data-key": id },
    h(
      "summary",
      {},
      statePill(state),
      h("span", { class: "entry-event" }, type),
      h("span", { class: "entry-url" }, url),
      ladder(delivery),
      h("span", { class: "entry-answer" }, lastAnswer(attempts)),
      h(
        "span",
        { class: "entry-next" },
        nextAttemptAt
          ? ["Next ", until(nextAttemptAt)]
          : attempts.length > 0
            ? timeOf(attempts.at(-1).at)
            : "",
      ),
    ),
    h(
      "div",
      { class: "entry-inside" },
      attempts.length === 0
        ? h("p", {}, "The first attempt is under way.")
        : table(
            "Attempts",
            [["#", "number"], ["When"], ["Answer"], ["Took", "number"], ["Signed with the time of"]],
            attempts.map((attempt, index) => [
              String(index),
              String(index + 1),
              timeOf(attempt.at),
              answer(attempt),
              `${attempt.durationMs} ms`,
              signedWith(attempt),
            ]),
          ),
      nextAttemptAt && h("p", {}, "Next attempt ", until(nextAttemptAt), " at ", timeOf(nextAttemptAt), "."),
      facts(
        ["Service-Delivery", copyable(id, "the delivery's id")],
        ["Event id", copyable(delivery.eventId, "the event's id")],
      ),
      h("h3", {}, "Body"),
      h(
        "pre",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Body" },
        h("code", {}, pretty(delivery.body)),
      ),
      h("p", { class: "actions" }, button("Resend", "resend", { id })),
    ),
  );
}

const until = (iso) => h("span", { "data-until": iso }, untilText(iso));

/** One mark per attempt of the schedule: made, failed, or to come. */
function ladder({ attempts, state, failures }) {
  const ofThisRound = state === "delivered" ? failures + 1 : failures;
  const marks = Array.from({ length: attemptsInAll }, (_, index) =>
    index < failures ? "failed" : state === "delivered" && index < ofThisRound ? "delivered" : "",
  );
  return h(
    "span",
    { class: "ladder", role: "img", "aria-label": plural(attempts.length, "attempt") },
    marks.map((mark) => h("i", { class: mark })),
  );
}

const lastAnswer = (attempts) => (attempts.length === 0 ? "Under way" : answer(attempts.at(-1)));
const answer = ({ status, error }) => (status === undefined ? (error ?? "No answer") : String(status));

const signedWith = ({ signedWith: whose, signedAt }) => {
  if (whose === undefined) return "–";
  const name = whose === "machine" ? "this machine" : "the service";
  return [name, signedAt && [", ", timeOf(signedAt)]];
};

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
