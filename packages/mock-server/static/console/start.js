/** The first room: what a website needs to know, and what to try first. */
import { get, post, thisWorld } from "./api.js";
import { confirmed, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { numberText } from "./format.js";
import { button, copyable, facts, heading, panel } from "./parts.js";

export const startRoom = {
  title: "Start",
  concerns: ["card", "operation", "endpoint", "delivery"],

  async load() {
    const [world, cards, endpoints, pending, delivered, failed] = await Promise.all([
      thisWorld(),
      get("cards", { limit: 100 }),
      get("webhooks/endpoints"),
      ...["pending", "delivered", "failed"].map((state) => get("webhooks/deliveries", { state, limit: 1 })),
    ]);
    const count = ({ total }) => total;
    return {
      world,
      cards: cards.total,
      hasBalance: cards.items.some(({ loyaltyBalance }) => loyaltyBalance !== 0),
      endpoints: endpoints.items.length,
      deliveries: { pending: count(pending), delivered: count(delivered), failed: count(failed) },
    };
  },

  show({ world, cards, hasBalance, endpoints, deliveries }) {
    const { pending, delivered, failed } = deliveries;
    return [
      heading(
        "Start",
        "The whole loyalty card service on this machine. Nothing here is real, so try everything.",
        button("Start over", "start-over"),
      ),
      h(
        "div",
        { class: "counts" },
        count(cards, cards === 1 ? "card" : "cards", "#/cards"),
        count(delivered, "delivered", "#/deliveries"),
        count(pending, "pending", "#/deliveries"),
        count(failed, "failed", "#/deliveries"),
      ),
      h(
        "div",
        { class: "columns" },
        panel(
          "Connect your website",
          facts(
            ["Base URL", copyable(world.baseUrl, "the base URL")],
            ["Website key", copyable(world.apiKeys.website, "the Website key")],
            ["Full key", copyable(world.apiKeys.full, "the Full key")],
            ["Template", copyable(world.templateId, "the template's id")],
          ),
          h(
            "p",
            { class: "quiet" },
            "Keys stay on your server. The ",
            h("a", { href: "api/docs" }, "API reference"),
            " has the Website key filled in.",
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
              "Your receiver, on this machine or on HTTPS.",
              "#/webhooks",
              endpoints > 0,
            ),
            step(
              "Record a purchase",
              "Open a card; the balance changes and your receiver hears of it.",
              "#/cards",
              hasBalance,
            ),
            step(
              "Watch it arrive",
              "Every attempt with its answer, and when the next one is due.",
              "#/deliveries",
              delivered > 0,
            ),
            step("Turn the clock", "Six hours of retries in a moment.", "#/clock", false),
          ),
        ),
      ),
    ];
  },

  actions: {
    async "start-over"() {
      const isSure = await confirmed(
        "Start over?",
        "Cards, customers, operations and deliveries are forgotten; what the service was started with stays.",
        "Start over",
      );
      if (!isSure) return;
      await post("reset");
      showToast("Everything is as at the start.");
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
