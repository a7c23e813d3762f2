/** The delivery log, the page of one delivery with its attempts, and the responses to the webhooks that an action caused. */
import { get, getPage, post, RequestError, waitForDelivery } from "./api.js";
import { timeElement, untilText } from "./clock.js";
import { h, plural, responseText, stateNames, statePill } from "./dom.js";
import {
  block,
  button,
  cardLink,
  copyable,
  empty,
  facts,
  filter,
  heading,
  pager,
  panel,
  searchField,
  showToast,
  table,
} from "./parts.js";

const deliveryPath = (id) => `webhooks/deliveries/${encodeURIComponent(id)}`;

export const deliveryActions = {
  async resend(id) {
    showDeliveryResult("The delivery is sent again.", await post(`${deliveryPath(id)}/resend`));
  },
};

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

export const deliveryPage = {
  title: "Delivery",
  getTitle: ({ delivery }) => `${delivery.type}, ${delivery.id}`,
  concerns: ["delivery", "endpoint", "clock"],

  async load({ id }) {
    const [delivery, endpoints] = await Promise.all([get(deliveryPath(id)), get("webhooks/endpoints")]);
    return { delivery, url: endpoints.items.find((endpoint) => endpoint.id === delivery.endpointId)?.url };
  },

  show({ delivery, url }) {
    return [
      h("p", { class: "back" }, h("a", { href: "#/deliveries" }, "← All deliveries")),
      heading(delivery.type, url ?? deletedEndpoint(delivery.endpointId), statePill(delivery.state)),
      panel("Delivery attempts", attemptProgress(delivery), deliveryDetails(delivery, url)),
      panel("Last attempt", lastAttempt(delivery, url)),
      panel("Event", block("Body, formatted", indented(delivery.body)), block("Raw body", delivery.body)),
    ];
  },

  actions: {
    ...deliveryActions,
    async "check-signature"(id) {
      const { endpointId, attempts, body } = await get(deliveryPath(id));
      const { secret } = await get(`webhooks/endpoints/${encodeURIComponent(endpointId)}/secret`);
      const header = attempts.findLast(({ signature }) => signature !== undefined).signature;
      // The fragment of an address is not sent to a server: the secret stays in the browser.
      const fields = new URLSearchParams({ header, body, secret });
      open(`${checkSignatureUrl}#${fields}`, "_blank", "noopener");
    },
  },
};

const checkSignatureUrl = "https://loyalty-cards.github.io/loyalty-cards/check-signature";

/** The log keeps deliveries to a deleted endpoint, but not its address. */
export const deletedEndpoint = (id) => `${id} (deleted)`;

/** The card that the event is about; undefined for an event without one, such as `ping`. */
export function readCardId({ body }) {
  return JSON.parse(body).data?.passId;
}

/** The address of the console with this delivery open. */
const linkTo = (id) => new URL(`#/delivery/${encodeURIComponent(id)}`, location.href).href;

/** @param url of the endpoint; undefined when the endpoint was deleted. */
export function deliveryDetails(delivery, url) {
  const { id, eventId, attempts, nextAttemptAt } = delivery;
  const cardId = readCardId(delivery);
  return [
    attempts.length === 0
      ? h("p", {}, "The first attempt is in progress.")
      : table(
          `Attempts of ${id}`,
          [["#", "count"], ["Time", "time"], ["Response"], ["Duration", "number"], ["Signature time from"]],
          attempts.map((attempt, index) => [
            String(index),
            String(index + 1),
            timeElement(attempt.at),
            responseText(attempt, url),
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
      cardId !== undefined && ["Card", cardLink(cardId)],
      ["Service-Delivery", copyable(id, "the delivery's id")],
      ["Event id", copyable(eventId, "the event's id")],
    ),
  ];
}

function lastAttempt({ id, type, attempts, body }, url) {
  const attempt = attempts.at(-1);
  if (attempt === undefined) return h("p", {}, "The first attempt is in progress.");
  const { signature, responseBody } = attempt;
  const headers = {
    "content-type": "application/json",
    "service-event": type,
    "service-delivery": id,
    "service-signature": signature,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [
    facts(["Response", responseText(attempt, url)]),
    responseBody === undefined
      ? h("p", { class: "quiet" }, "The response had no body.")
      : block("Response body, at most 1,000 characters", responseBody),
    signature === undefined
      ? h("p", { class: "quiet" }, "No request was sent.")
      : [
          block("Request headers", lines.join("\n")),
          url !== undefined && block("The request as curl", toCurl(url, lines, body)),
          url !== undefined &&
            h("p", { class: "actions" }, button("Check the signature ↗", "check-signature", { id })),
        ],
  ];
}

/** A command for POSIX shells. */
function toCurl(url, headers, body) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const options = headers.map((line) => `  -H ${quoted(line)} \\\n`);
  return `curl -i ${quoted(url)} \\\n${options.join("")}  --data-raw ${quoted(body)}`;
}

export const until = (iso) => h("span", { "data-until": iso }, untilText(iso));

/** The first attempt and five retries (spec 3.2). */
const maxAttempts = 6;

/** One mark per attempt of the schedule: failed, delivered, or to come. */
export function attemptProgress({ attempts, state, failures }) {
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

const signedWith = ({ signedWith: clock, signedAt }) => {
  if (clock === undefined) return "–";
  const name = clock === "machine" ? "this machine" : "the service";
  return [name, signedAt && [", ", timeElement(signedAt)]];
};

const indented = (body) => JSON.stringify(JSON.parse(body), null, 2);

/** Shows what an action on a card did, and then the responses to the events that it emitted. */
export async function showCardResult(cardId, act, describe) {
  const list = (limit) => get("webhooks/deliveries", { query: cardId, limit });
  const { total: earlier } = await list(1);
  const text = describe(await act());
  const { items, total } = await list(100);
  const caused = items.slice(0, total - earlier).reverse();
  if (caused.length === 0) showToast(`${text} No endpoint gets an event.`);
  else
    void showResponses(
      text,
      caused.map((delivery) => ({ ...delivery, attempts: [] })),
    );
}

/** Shows that a delivery was sent, and then the response to its next attempt. */
export const showDeliveryResult = (text, delivery) => void showResponses(text, [delivery]);

/** @param deliveries as they were before the attempts that the text is about. */
async function showResponses(text, deliveries) {
  const show = showToast(text);
  try {
    const { items: endpoints } = await get("webhooks/endpoints");
    const attempts = await Promise.all(deliveries.map(readNextAttempt));
    const results = attempts.map((attempt, index) => {
      const { type, endpointId } = deliveries[index];
      const url = endpoints.find(({ id }) => id === endpointId)?.url;
      return `${type} → ${responseText(attempt, url)}`;
    });
    const isDelivered = attempts.every(({ status }) => status >= 200 && status < 300);
    show(`${text} ${results.join(", ")}`, isDelivered ? "done" : "error");
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    show(error.message, "error");
  }
}

async function readNextAttempt({ id, attempts: earlier }) {
  for (;;) {
    const changed = waitForDelivery();
    const { attempts } = await get(deliveryPath(id));
    if (attempts.length > earlier.length) return attempts[earlier.length];
    await changed;
  }
}
