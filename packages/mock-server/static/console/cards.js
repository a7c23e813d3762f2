/** Customers and their cards: search, and a form that issues a card. */
import { callAsWebsite, get, getPage } from "./api.js";
import { timeElement } from "./clock.js";
import { customerName, h, numberText, walletName } from "./dom.js";
import {
  button,
  cardLink,
  checkbox,
  empty,
  field,
  form,
  heading,
  pager,
  panel,
  searchField,
  showToast,
  table,
} from "./parts.js";

export const cardsPage = {
  title: "Cards",
  concerns: ["card", "operation", "customer", "template"],
  filters: ["query"],

  async load(state) {
    const [cards, templates] = await Promise.all([
      getPage("cards", state, { query: state.query }),
      get("templates"),
    ]);
    return { cards, templates: templates.items };
  },

  show({ cards, templates }, state) {
    const open = templates.filter(({ isArchived }) => !isArchived);
    return [
      heading(
        "Cards",
        "Issued cards and their customers.",
        button("Issue a test card", "open-form", {
          kind: "primary",
          "aria-expanded": String(state.isOpen === true),
        }),
      ),
      state.isOpen && issueForm(open, state),
      searchField("Search cards", "Name, phone, email, card or customer id", state.query),
      h("div", { "data-key": "list" }, cardList(cards, templates, state)),
      pager({ total: cards.total, offset: state.offset, noun: "cards" }),
    ];
  },

  actions: {
    "open-form"(_id, { state }) {
      state.isOpen = state.isOpen !== true;
    },
  },

  submits: {
    async issue(values, { form: filled, state }) {
      const { apiKeys } = await get("settings");
      const template = values.get("template");
      const fieldValues = Object.fromEntries(
        [...values]
          .filter(([name, value]) => name.startsWith("fieldValues/") && value !== "")
          .map(([name, value]) => [
            name.slice("fieldValues/".length),
            filled.elements[name].type === "number" ? Number(value) : value,
          ]),
      );
      const contact = ["customer/phone", "customer/email", "customer/name"]
        .filter((name) => values.get(name) !== "")
        .map((name) => [name.slice("customer/".length), values.get(name)]);
      const consents = {
        privacy: { version: "console" },
        ...(values.has("marketing") && { marketing: { version: "console" } }),
      };
      const path = `templates/${encodeURIComponent(template)}/passes`;
      const customer = { ...Object.fromEntries(contact), consents };
      const card = await callAsWebsite("POST", path, apiKeys.website, { fieldValues, customer });
      state.isOpen = false;
      showToast("The card was issued.");
      location.hash = `#/card/${encodeURIComponent(card.id)}`;
    },
  },
};

function issueForm(templates, state) {
  if (templates.length === 0) {
    return panel(
      "Issue a test card",
      empty(
        "No template to issue from",
        "Cards are issued from templates that are not archived.",
        h("a", { class: "button", href: "#/templates" }, "Create a template"),
      ),
    );
  }
  const chosen = templates.find(({ id }) => id === state.template) ?? templates[0];
  return panel(
    "Issue a test card",
    form("issue", "Issue the card", [
      h(
        "div",
        { class: "grid" },
        field("Template", "template", {
          options: templates.map(({ id, name }) => [id, name]),
          "data-filter": "template",
        }),
        // The service ignores this value: a number field named points shows the balance.
        chosen.fields
          .filter(({ key, type }) => !(key === "points" && type === "number"))
          .map(({ key, type, label = key, required }) =>
            field(`${label}${required ? "" : " (optional)"}`, `fieldValues/${key}`, {
              ...(type === "number" && { type: "number", step: "any" }),
            }),
          ),
        field("Phone (optional)", "customer/phone", { type: "tel", hint: "Identifies the customer." }),
        field("Email (optional)", "customer/email", {
          type: "email",
          hint: "Identifies the customer when no customer has the phone number.",
        }),
        field("Customer’s name (optional)", "customer/name"),
      ),
      h("p", {}, checkbox("Wants news and offers", "marketing")),
    ]),
  );
}

function cardList({ items, total }, templates, { query }) {
  if (total === 0 && query) {
    return empty(
      `No card matches “${query}”`,
      "Search for a part of a name, a phone number, an email address or an id.",
    );
  }
  if (total === 0) {
    return empty(
      "No cards yet",
      "Your website issues one with POST /api/v1/templates/{templateId}/passes; the button above does the same.",
    );
  }
  const byId = new Map(templates.map((template) => [template.id, template]));
  return table(
    "Cards, newest first",
    [
      ["Customer"],
      ["Card", "id"],
      ["Balance", "number"],
      ["Level", "short"],
      ["Wallets", "short"],
      ["Issued", "time"],
    ],
    items.map((card) => [
      card.id,
      [
        h(
          "a",
          { href: `#/card/${encodeURIComponent(card.id)}`, class: "strong" },
          getHolderName(card, byId.get(card.templateId)),
        ),
        [card.customer.phone, card.customer.email].map((contact) => contact && h("small", {}, contact)),
      ],
      [cardLink(card.id), h("small", {}, byId.get(card.templateId)?.name ?? card.templateId)],
      numberText(card.loyaltyBalance),
      card.loyaltyTier ?? "–",
      card.wallets.map(walletName).join(", ") || "–",
      timeElement(card.issuedAt),
    ]),
    "wide",
  );
}

/** What the console calls a card's customer, who may have no name. */
export const getHolderName = (card, template) =>
  customerName({ ...card.customer, name: card.customer.name ?? readCardName(card, template) });

/** The name in the card's fields. */
export function readCardName({ fieldValues }, template) {
  const key = template?.fields.find(({ type }) => type === "name")?.key;
  return key && Object.hasOwn(fieldValues, key) ? String(fieldValues[key]) : undefined;
}
