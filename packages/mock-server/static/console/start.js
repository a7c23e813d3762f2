/** The first page: the settings of a website, also as .env, and the first steps. */
import { get, post } from "./api.js";
import { h, numberText } from "./dom.js";
import {
  button,
  confirmAction,
  copyable,
  copyText,
  facts,
  field,
  heading,
  panel,
  showToast,
} from "./parts.js";

export const startPage = {
  title: "Start",
  concerns: ["card", "operation", "endpoint", "delivery"],

  async load(state) {
    const [settings, cards, endpoints, pending, delivered, failed] = await Promise.all([
      get("settings"),
      get("cards", { limit: 100 }),
      get("webhooks/endpoints"),
      ...["pending", "delivered", "failed"].map((state) => get("webhooks/deliveries", { state, limit: 1 })),
    ]);
    const count = ({ total }) => total;
    const endpoint = endpoints.items.find(({ id }) => id === state.endpointId) ?? endpoints.items[0];
    // Read before the click: some browsers allow writing to the clipboard only while they handle the click.
    const { secret } = endpoint
      ? await get(`webhooks/endpoints/${encodeURIComponent(endpoint.id)}/secret`)
      : {};
    state.environment = formatEnvironment(settings, secret);
    return {
      settings,
      cards: cards.total,
      hasBalance: cards.items.some(({ loyaltyBalance }) => loyaltyBalance !== 0),
      endpoints: endpoints.items,
      deliveries: { pending: count(pending), delivered: count(delivered), failed: count(failed) },
    };
  },

  show({ settings, cards, hasBalance, endpoints, deliveries }) {
    const { pending, delivered, failed } = deliveries;
    return [
      heading(
        "Start",
        "A mock of the loyalty card service on this machine. It has no real customers: try everything.",
        button("Start over", "start-over"),
      ),
      h(
        "div",
        { class: "counts" },
        count(cards, cards === 1 ? "card" : "cards", "#/cards"),
        count(delivered, "delivered", "#/deliveries?state=delivered"),
        count(pending, "pending", "#/deliveries?state=pending"),
        count(failed, "failed", "#/deliveries?state=failed"),
      ),
      h(
        "div",
        { class: "columns" },
        panel(
          "Connect your website",
          facts(
            ["Base URL", copyable(settings.baseUrl, "the base URL")],
            ["Website key", copyable(settings.apiKeys.website, "the Website key")],
            ["Full key", copyable(settings.apiKeys.full, "the Full key")],
            ["Template", copyable(settings.templateId, "the template's id")],
          ),
          endpoints.length > 1 &&
            field("Signing secret of", "endpointId", {
              options: endpoints.map(({ id, url }) => [id, url]),
              "data-filter": "endpointId",
            }),
          h("p", { class: "actions" }, button("Copy as .env", "copy-environment", { kind: "primary" })),
          h(
            "p",
            { class: "quiet" },
            endpoints.length === 0
              ? "Includes the signing secret when there is a webhook endpoint. "
              : "Includes the signing secret of the webhook endpoint. ",
            "Keys stay on your server. The ",
            h("a", { href: "api/docs" }, "API reference"),
            " has the Website key filled in; the ",
            h("a", { href: "https://loyalty-cards.github.io/loyalty-cards/" }, "guides"),
            " say how to integrate.",
          ),
        ),
        panel(
          "First steps",
          h(
            "ol",
            { class: "steps" },
            step("Issue a card", "From your website, or with the form here.", "#/cards", cards > 0),
            step(
              "Add a webhook endpoint",
              "The URL of your receiver: with HTTPS, or on this machine.",
              "#/webhooks",
              endpoints.length > 0,
            ),
            step(
              "Record a purchase",
              "Open a card: its balance changes, and your receiver gets the event.",
              "#/cards",
              hasBalance,
            ),
            step(
              "Read the delivery log",
              "Every delivery attempt with its response, and the time of the next one.",
              "#/deliveries",
              delivered > 0,
            ),
            step("Move the clock", "Six hours of retries in milliseconds.", "#/clock", false),
          ),
        ),
      ),
    ];
  },

  actions: {
    "copy-environment": (_id, { state }) => copyText(state.environment, "The settings for .env"),
    async "start-over"() {
      const isSure = await confirmAction(
        "Start over?",
        "Deletes all cards, customers, operations and deliveries. The settings that the service was started with stay.",
        "Start over",
      );
      if (!isSure) return;
      await post("reset");
      showToast("The service was reset.");
    },
  },
};

const count = (number, noun, address) =>
  h("a", { href: address, "data-key": noun }, h("strong", {}, numberText(number)), ` ${noun}`);

const step = (title, purpose, address, isDone) =>
  h(
    "li",
    { class: isDone ? "is-done" : undefined },
    h("a", { href: address }, title),
    isDone && h("span", { class: "done-mark" }, "Done"),
    h("p", {}, purpose),
  );

/** The variables that the examples and `exec` use. */
function formatEnvironment({ baseUrl, apiKeys, templateId }, secret) {
  const values = {
    LOYALTY_URL: baseUrl,
    LOYALTY_API_KEY: apiKeys.website,
    LOYALTY_TEMPLATE_ID: templateId,
    ...(secret !== undefined && { LOYALTY_SIGNING_SECRET: secret }),
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join("");
}

/** Quotes values with `#`, `$` or spaces, which have a meaning in .env files. A seeded secret can be any text. */
function quoted(value) {
  if (/^[\w.:/-]+$/.test(value)) return value;
  const mark = ["'", '"', "`"].find((candidate) => !value.includes(candidate)) ?? "'";
  return mark + value + mark;
}
