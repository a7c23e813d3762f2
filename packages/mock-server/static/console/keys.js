/** API keys: create and revoke them. */
import { get, post, remove } from "./api.js";
import { confirmAction, showSecret, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { button, copyable, empty, field, form, heading, panel } from "./parts.js";
import { timeElement } from "./service-clock.js";

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
