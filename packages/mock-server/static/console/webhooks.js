/** Webhook endpoints: their addresses, their events and their signing secrets. */
import { get, post, remove, update } from "./api.js";
import { confirmAction, showSecret, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { breakable, button, checkbox, copyable, empty, field, form, heading, panel } from "./parts.js";
import { showDeliveryResult } from "./results.js";

const secretHint =
  "This signing secret is shown once. Copy it into the settings of your receiver now. “New secret” replaces it.";

export const webhooksPage = {
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
        "The service sends signed events to these addresses, and retries until the receiver responds with 2xx.",
        button("Add an endpoint", "open-form", { kind: "primary", "aria-expanded": String(isOpen) }),
      ),
      isOpen && panel("Add an endpoint", endpointForm("create", "Add the endpoint", events)),
      endpoints.length === 0
        ? empty(
            "No endpoints yet",
            "Add the address of your receiver above. It must use HTTPS or be on this machine.",
          )
        : h(
            "ul",
            { class: "cards", "data-key": "list" },
            endpoints.map((endpoint) => endpointPanel(endpoint, events, endpoint.id === state.edited)),
          ),
    ];
  },

  actions: {
    "open-form"(_id, { element, state }) {
      state.isOpen = element.getAttribute("aria-expanded") !== "true";
    },
    async test(id) {
      const delivery = await post(`${endpointPath(id)}/test`);
      showDeliveryResult("A ping was sent.", { ...delivery, attempts: [] });
    },
    async "new-secret"(id) {
      const isSure = await confirmAction(
        "Create a new secret?",
        "The old secret is invalid immediately, also for pending retries.",
        "Create a new secret",
      );
      if (!isSure) return;
      const { secret } = await post(`${endpointPath(id)}/new-secret`);
      await showSecret("The new secret", secret, secretHint);
    },
    edit(id, { state }) {
      state.edited = state.edited === id ? undefined : id;
    },
    async delete(id) {
      const isSure = await confirmAction(
        "Delete this endpoint?",
        "Its pending deliveries become failed and are not attempted again. The delivery log stays.",
        "Delete the endpoint",
      );
      if (!isSure) return;
      await remove(endpointPath(id));
      showToast("The endpoint was deleted.");
    },
  },

  submits: {
    async create(values, { state }) {
      const { secret } = await post("webhooks/endpoints", {
        url: values.get("url"),
        events: values.getAll("events"),
      });
      state.isOpen = false;
      await showSecret("The endpoint’s secret", secret, secretHint);
    },
    async update(values, { state }) {
      await update(endpointPath(state.edited), { url: values.get("url"), events: values.getAll("events") });
      state.edited = undefined;
      showToast("The endpoint was changed.");
    },
  },
};

const endpointPath = (id) => `webhooks/endpoints/${encodeURIComponent(id)}`;

/** @param {{ id: string, url: string, events: string[] }} [endpoint] to change; without it the form adds one. */
const endpointForm = (submit, label, eventTypes, endpoint) =>
  form(submit, label, [
    field("Address", "url", {
      type: "url",
      id: `url-${endpoint?.id ?? "new"}`,
      value: endpoint?.url,
      placeholder: "http://localhost:3000/webhooks/loyalty",
    }),
    h(
      "fieldset",
      {},
      h("legend", {}, "Events"),
      h(
        "div",
        { class: "checks" },
        eventTypes.map((type) =>
          checkbox(type, "events", {
            value: type,
            checked: endpoint ? endpoint.events.includes(type) : type !== "ping",
          }),
        ),
      ),
      h("span", { class: "form-error", "data-error": "events", "data-keep": true }),
    ),
  ]);

const endpointPanel = (endpoint, eventTypes, isEdited) => {
  const { id, url, events } = endpoint;
  return h(
    "li",
    { class: "panel", "data-key": id },
    h(
      "header",
      {},
      h("div", {}, h("h2", { class: "address" }, breakable(url)), copyable(id, "the endpoint's id")),
      h(
        "div",
        { class: "actions" },
        button("Send test", "test", { id, "aria-label": `Send test to ${url}` }),
        h("a", { class: "button", href: `#/deliveries?endpointId=${encodeURIComponent(id)}` }, "Deliveries"),
        button("New secret", "new-secret", { id, "aria-label": `New secret for ${url}` }),
        button(isEdited ? "Cancel" : "Edit", "edit", {
          id,
          "aria-expanded": String(isEdited),
          "aria-label": isEdited ? `Cancel the changes of ${url}` : `Edit ${url}`,
        }),
        button("Delete", "delete", { id, kind: "danger", "aria-label": `Delete ${url}` }),
      ),
    ),
    isEdited
      ? h("div", { "data-key": "edit" }, endpointForm("update", "Save the changes", eventTypes, endpoint))
      : h(
          "ul",
          { class: "chips", "aria-label": "Events", "data-key": "events" },
          events.map((type) => h("li", {}, type)),
        ),
  );
};
