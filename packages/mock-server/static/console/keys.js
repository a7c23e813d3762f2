/** API keys: create and revoke them. */
import { get, post, remove } from "./api.js";
import { confirmAction, showSecret, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { button, copyable, empty, field, form, heading, panel } from "./parts.js";
import { timeOf } from "./service-clock.js";

const kindNames = { website: "Website", full: "Full" };

export const keysPage = {
  title: "API keys",
  concerns: ["apiKey"],
  load: () => get("api-keys"),

  show({ items }) {
    return [
      heading("API keys", "What your server sends as Authorization: Bearer. Keys never go into a browser."),
      panel(
        "Create a key",
        form("create", "Create the key", [
          h(
            "div",
            { class: "grid" },
            field("Kind", "kind", { options: Object.entries(kindNames) }),
            field("Name (optional)", "name", {
              placeholder: "Shop on staging",
              hint: "Shows you later which key to revoke.",
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
        "Calls with this key get 401 from now on.",
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
        "Keep it on your server. It also stays in the list here: this is a mock.",
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
      h("small", {}, kindNames[kind] ?? kind, ", created ", timeOf(createdAt)),
      copyable(key, `the key ${name || kind}`),
    ),
    button("Revoke", "revoke", { id, kind: "small", "aria-label": `Revoke ${name || kind}` }),
  );
