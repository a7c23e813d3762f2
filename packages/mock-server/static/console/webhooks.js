/** Webhook endpoints: where events go, which ones, and under which secret. */
import { get, post } from "./api.js";
import { confirmed, shownOnce, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { button, checkbox, copyable, empty, field, form, heading, panel } from "./parts.js";

const keepIt = "This signing secret is shown once. Give it to your receiver now; “New secret” replaces it.";

export const webhooksRoom = {
  title: "Webhooks",
  concerns: ["endpoint"],

  async load() {
    const [endpoints, settings] = await Promise.all([get("webhooks/endpoints"), get("settings")]);
    return { endpoints: endpoints.items, events: settings.events };
  },

  show({ endpoints, events }, state) {
    const isOpen = state.isOpen ?? endpoints.length === 0;
    return [
      heading(
        "Webhooks",
        "Where events are sent, signed, and again when nobody answers.",
        button("Add an endpoint", "open-form", { kind: "primary", "aria-expanded": String(isOpen) }),
      ),
      isOpen && createForm(events),
      endpoints.length === 0
        ? empty(
            "No endpoints yet",
            "Add the address of your receiver above. It needs HTTPS, or to be on this machine.",
          )
        : h("ul", { class: "cards", "data-key": "list" }, endpoints.map(endpointCard)),
    ];
  },

  actions: {
    "open-form"(_id, { element, state }) {
      state.isOpen = element.getAttribute("aria-expanded") !== "true";
    },
    async test(id) {
      await post(`webhooks/endpoints/${encodeURIComponent(id)}/test`);
      showToast("A ping is on its way; the delivery log shows the answer.");
    },
    async "new-secret"(id) {
      const isSure = await confirmed(
        "Make a new secret?",
        "The old one ends at once, also for deliveries that are still being retried.",
        "Make a new secret",
      );
      if (!isSure) return;
      const { secret } = await post(`webhooks/endpoints/${encodeURIComponent(id)}/new-secret`);
      await shownOnce("The new secret", secret, keepIt);
    },
  },

  submits: {
    async create(values, { state }) {
      const { secret } = await post("webhooks/endpoints", {
        url: values.get("url"),
        events: values.getAll("events"),
      });
      state.isOpen = false;
      await shownOnce("The endpoint’s secret", secret, keepIt);
    },
  },
};

const createForm = (events) =>
  panel(
    "Add an endpoint",
    form("create", "Add the endpoint", [
      field("Address", "url", { type: "url", placeholder: "http://localhost:3000/webhooks" }),
      h(
        "fieldset",
        {},
        h("legend", {}, "Events"),
        h(
          "div",
          { class: "checks" },
          events.map((type) => checkbox(type, "events", { value: type, checked: type !== "ping" })),
        ),
        h("span", { class: "fault", "data-fault": "events", "data-keep": true }),
      ),
    ]),
  );

const endpointCard = ({ id, url, events }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h(
      "header",
      {},
      h("div", {}, h("h2", { class: "address" }, url), copyable(id, "the endpoint's id")),
      h(
        "div",
        { class: "actions" },
        button("Send test", "test", { id, "aria-label": `Send test to ${url}` }),
        button("New secret", "new-secret", { id, "aria-label": `New secret for ${url}` }),
        h("a", { class: "button", href: `#/deliveries/${encodeURIComponent(id)}` }, "Deliveries"),
      ),
    ),
    h(
      "ul",
      { class: "chips", "aria-label": "Chosen events" },
      events.map((type) => h("li", {}, type)),
    ),
  );
