/** Webhook endpoints, with their events and signing secrets; and the API keys. */
import { get, post, remove, update } from "./api.js";
import { timeElement } from "./clock.js";
import { showDeliveryResult } from "./deliveries.js";
import { h } from "./dom.js";
import {
  breakable,
  button,
  checkbox,
  confirmAction,
  copyable,
  empty,
  field,
  form,
  heading,
  panel,
  showSecret,
  showToast,
} from "./parts.js";

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

const kindNames = { website: "Website", full: "Full" };

export const keysPage = {
  title: "API keys",
  concerns: ["apiKey"],
  load: () => get("api-keys"),

  show({ items }) {
    return [
      heading("API keys", "Your server sends a key as Authorization: Bearer. Do not use keys in browsers."),
      panel(
        "Create a key",
        form("create", "Create the key", [
          h(
            "div",
            { class: "grid" },
            field("Kind", "kind", { options: Object.entries(kindNames) }),
            field("Name (optional)", "name", {
              placeholder: "Shop on staging",
              hint: "Helps you to find the key when you revoke it.",
            }),
          ),
        ]),
      ),
      panel(
        "Keys",
        items.length === 0
          ? empty("No keys", "Create one above; until then every API call gets 401.")
          : h("ul", { class: "rows", "data-key": "list" }, items.map(keyRow)),
      ),
    ];
  },

  actions: {
    async revoke(id) {
      const isSure = await confirmAction(
        "Revoke this key?",
        "Requests with this key will get 401.",
        "Revoke it",
      );
      if (!isSure) return;
      await remove(`api-keys/${encodeURIComponent(id)}`);
      showToast("The key was revoked.");
    },
  },

  submits: {
    async create(values, { form: filled }) {
      const name = values.get("name");
      const { key } = await post("api-keys", { kind: values.get("kind"), ...(name !== "" && { name }) });
      filled.reset();
      await showSecret(
        "The new key",
        key,
        "Store it on your server. The mock service also shows it in this list.",
      );
    },
  },
};

const keyRow = ({ id, kind, name, key, createdAt }) =>
  h(
    "li",
    { "data-key": id },
    h(
      "div",
      {},
      h("strong", {}, name || "Unnamed key"),
      h("small", {}, kindNames[kind] ?? kind, ", created ", timeElement(createdAt)),
      copyable(key, `the key ${name || kind}`),
    ),
    button("Revoke", "revoke", { id, kind: "small", "aria-label": `Revoke ${name || kind}` }),
  );
