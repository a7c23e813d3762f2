/** One delivery: its attempts with their responses, and the request to repeat or check. */
import { get, post } from "./api.js";
import { h } from "./dom.js";
import { plural, responseText, statePill } from "./format.js";
import { block, button, cardLink, copyable, facts, heading, panel, table } from "./parts.js";
import { showDeliveryResult } from "./results.js";
import { timeElement, untilText } from "./service-clock.js";

const deliveryPath = (id) => `webhooks/deliveries/${encodeURIComponent(id)}`;

export const deliveryActions = {
  async resend(id) {
    showDeliveryResult("The delivery is sent again.", await post(`${deliveryPath(id)}/resend`));
  },
};

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
