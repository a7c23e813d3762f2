/** One delivery: its attempts with their responses, its body, and the link that opens it. */
import { get, post } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { plural, statePill } from "./format.js";
import { button, copyable, facts, heading, panel, table } from "./parts.js";
import { timeElement, untilText } from "./service-clock.js";

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
export const deletedEndpoint = (id) => `${id} (deleted)`;

export async function resend(id) {
  await post(`webhooks/deliveries/${encodeURIComponent(id)}/resend`);
  showToast("The delivery is sent again.");
}

/** The address of the console with this delivery open; `?sandbox=` stays in it. */
const linkTo = (id) => new URL(`#/delivery/${encodeURIComponent(id)}`, location.href).href;

/** @param url of the endpoint; undefined when the endpoint was deleted. */
export function deliveryDetails(delivery, url) {
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

export const responseText = ({ status, error }) =>
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
