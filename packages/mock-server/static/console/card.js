/** One card: its balance, customer and history, and everything that a shop can do with it. */
import { callAsWebsite, get, getPage, post, put, remove } from "./api.js";
import { getHolderName, readCardName } from "./cards.js";
import { timeElement } from "./clock.js";
import { showCardResult } from "./deliveries.js";
import { h, numberText, responseText, signed, statePill, walletTitle } from "./dom.js";
import { button, copyable, empty, facts, field, form, heading, pager, panel, table } from "./parts.js";

const kinds = [
  ["purchase", "Purchase: adds points"],
  ["reward", "Reward: adds points"],
  ["redeem", "Redemption: subtracts points"],
  ["correct", "Correction: adds or subtracts"],
];

const cardPath = (id, ...rest) => ["cards", id, ...rest].map(encodeURIComponent).join("/");

export const cardPage = {
  title: "Card",
  getTitle: ({ card, template }) => `Card of ${getHolderName(card, template)}`,
  concerns: ["card", "operation", "customer", "delivery"],

  async load(state) {
    const { id } = state;
    const [card, operations, deliveries, endpoints, settings, templates] = await Promise.all([
      get(cardPath(id)),
      getPage(cardPath(id, "operations"), state),
      get("webhooks/deliveries", { query: id, limit: 5 }),
      get("webhooks/endpoints"),
      get("settings"),
      get("templates"),
    ]);
    const others = await get("cards", { customerId: card.customerId, limit: 100 });
    const template = templates.items.find((candidate) => candidate.id === card.templateId);
    return {
      card,
      operations,
      deliveries,
      endpoints: endpoints.items,
      wallets: settings.wallets,
      template,
      others: others.items.filter((other) => other.id !== id),
    };
  },

  show({ card, operations, deliveries, endpoints, wallets, template, others }, state) {
    return [
      h("p", { class: "back" }, h("a", { href: "#/cards" }, "← All cards")),
      heading(
        getHolderName(card, template),
        `Card of ${template?.name ?? card.templateId}`,
        h(
          "a",
          { class: "button", href: card.publicUrl, target: "_blank", rel: "noopener" },
          "Open the card’s page",
        ),
      ),
      h(
        "div",
        { class: "columns" },
        h("div", { class: "stack" }, cardPreview(card, template), recordPanel(state)),
        h(
          "div",
          { class: "stack" },
          panel("Wallets", walletRows(card, wallets)),
          customerPanel(card, others),
        ),
      ),
      panel(
        "History",
        historyTable(operations),
        pager({ total: operations.total, offset: state.offset, noun: "the history" }),
      ),
      panel("Deliveries", deliveryTable(card.id, deliveries, endpoints)),
      panel(
        "Details",
        facts(
          ["Card id", copyable(card.id, "the card's id")],
          ["Card page", copyable(card.publicUrl, "the address of the card's page")],
          ["Status", card.status],
          ["Issued via", card.issuedVia],
          card.issuedAt && ["Issued", timeElement(card.issuedAt)],
          ...Object.entries(card.fieldValues).map(([key, value]) => [`Field “${key}”`, String(value)]),
        ),
      ),
    ];
  },

  actions: {
    async "add-to-wallet"(wallet, { state }) {
      const act = () => put(cardPath(state.id, "wallets", wallet));
      await showCardResult(state.id, act, () => `Added to ${walletTitle(wallet)}.`);
    },
    async "remove-from-wallet"(wallet, { state }) {
      const act = () => remove(cardPath(state.id, "wallets", wallet));
      await showCardResult(state.id, act, () => `Removed from ${walletTitle(wallet)}.`);
    },
    async "cancel-operation"(id, { state }) {
      const act = () => post(`operations/${encodeURIComponent(id)}/cancel`);
      await showCardResult(state.id, act, () => "The operation was cancelled.");
    },
    "give-consent": (_id, { state }) => changeConsent(state.id, true),
    "withdraw-consent": (_id, { state }) => changeConsent(state.id, false),
  },

  submits: {
    async record(values, { form: filled, state }) {
      const kind = values.get("kind");
      const amount = values.get("amount") === "" ? null : Number(values.get("amount"));
      const body = kind === "correct" ? { change: amount } : { points: amount };
      const act = () => post(cardPath(state.id, kind), body).catch(asErrorOfAmount);
      await showCardResult(state.id, act, ({ change }) => `Recorded: ${signed(change)} points.`);
      filled.elements.amount.value = "";
    },
  },
};

/** The form has one field, `amount`; the service calls it `points` or `change`. */
function asErrorOfAmount(error) {
  for (const invalid of error.errors ?? []) invalid.pointer = "/amount";
  throw error;
}

/** The upper half of the card's page, with its style sheets. */
function cardPreview(card, template) {
  const holder = readCardName(card, template) ?? card.customer.name;
  return h(
    "article",
    { class: "card" },
    h("link", {
      rel: "stylesheet",
      href: `assets/colours-of-${encodeURIComponent(card.templateId)}.css`,
    }),
    h(
      "header",
      {},
      h("p", { class: "shop" }, template?.name ?? ""),
      card.loyaltyTier !== null && h("span", { class: "tier" }, card.loyaltyTier),
    ),
    h("div", { class: "balance" }, h("p", {}, balanceText(card), " points")),
    holder !== undefined && h("p", { class: "holder" }, h("span", {}, "Member"), " ", holder),
  );
}

const balanceText = ({ loyaltyBalance }) =>
  h("strong", { class: loyaltyBalance >= 100_000 ? "long" : "" }, numberText(loyaltyBalance));

const walletRows = ({ wallets: isIn }, { first, second }) =>
  h(
    "ul",
    { class: "rows" },
    [first, second].map((wallet) =>
      h(
        "li",
        { "data-key": wallet },
        h(
          "span",
          {},
          h("strong", {}, walletTitle(wallet)),
          h("small", {}, isIn.includes(wallet) ? "Contains the card" : "Does not contain the card"),
        ),
        isIn.includes(wallet)
          ? button("Remove", "remove-from-wallet", {
              id: wallet,
              "data-key": "remove",
              "aria-label": `Remove from ${walletTitle(wallet)}`,
            })
          : button("Add", "add-to-wallet", {
              id: wallet,
              "data-key": "add",
              "aria-label": `Add to ${walletTitle(wallet)}`,
            }),
      ),
    ),
  );

const recordPanel = ({ kind = "purchase" }) =>
  panel(
    "Record",
    form("record", "Record it", [
      h(
        "div",
        { class: "grid" },
        field("Operation", "kind", { options: kinds, "data-filter": "kind" }),
        field("Points", "amount", {
          type: "number",
          step: "any",
          inputmode: "decimal",
          hint: kind === "correct" ? "A negative number subtracts points." : "More than 0.",
        }),
      ),
    ]),
  );

/** Uses the public API: the control API has no consents. */
async function changeConsent(id, marketing) {
  const { apiKeys } = await get("settings");
  const path = `passes/${encodeURIComponent(id)}/consent`;
  const act = () => callAsWebsite("PUT", path, apiKeys.website, { marketing });
  await showCardResult(id, act, () => (marketing ? "Consent given." : "Consent withdrawn."));
}

function customerPanel({ customer }, others) {
  const { id, name, phone, email, marketingConsent, privacyVersion } = customer;
  return panel(
    "Customer",
    facts(
      ["Name", name ?? "–"],
      ["Phone", phone ?? "–"],
      ["Email", email ?? "–"],
      ["Privacy notice", privacyVersion === undefined ? "–" : `Version ${privacyVersion}`],
      [
        "News and offers",
        h(
          "span",
          { class: "choice" },
          h("span", {}, marketingConsent ? "Given" : "Not given"),
          marketingConsent
            ? button("Withdraw", "withdraw-consent", { kind: "small", "data-key": "withdraw" })
            : button("Give", "give-consent", { kind: "small", "data-key": "give" }),
        ),
      ],
      ["Customer id", copyable(id, "the customer's id")],
      others.length > 0 && [
        "Other cards",
        others.map((other) =>
          h("a", { class: "line", href: `#/card/${encodeURIComponent(other.id)}` }, other.id),
        ),
      ],
    ),
  );
}

const typeNames = {
  purchase: "Purchase",
  redemption: "Redemption",
  reward: "Reward",
  correction: "Correction",
  cancellation: "Cancellation",
};

function historyTable({ items, total }) {
  if (total === 0)
    return empty("No operations yet", "Record a purchase above. The service then sends balance.changed.");
  return table(
    "History, newest first",
    [
      ["Time", "time"],
      ["Operation"],
      ["Change", "number"],
      ["Balance", "number"],
      [h("span", { class: "hidden" }, "Action"), "last"],
    ],
    items.map(({ id, type, change, balance, createdAt, isCancelled }) => [
      id,
      timeElement(createdAt),
      [typeNames[type] ?? type, isCancelled && h("span", { class: "pill quiet" }, "Cancelled")],
      signed(change),
      numberText(balance),
      !isCancelled &&
        type !== "cancellation" &&
        button("Cancel", "cancel-operation", {
          id,
          kind: "small",
          "aria-label": `Cancel the ${(typeNames[type] ?? type).toLowerCase()} of ${signed(change)}`,
        }),
    ]),
    "history",
  );
}

function deliveryTable(cardId, { items, total }, endpoints) {
  if (total === 0) {
    return endpoints.length === 0
      ? empty(
          "No deliveries yet",
          "Without a webhook endpoint the service sends no events.",
          h("a", { class: "button", href: "#/webhooks" }, "Add an endpoint"),
        )
      : empty(
          "No deliveries yet",
          "Events of this card appear here when an endpoint subscribes to them: record a purchase, or add the card to a wallet.",
        );
  }
  const urls = new Map(endpoints.map(({ id, url }) => [id, url]));
  const rest = { class: "button", href: `#/deliveries?query=${encodeURIComponent(cardId)}` };
  return [
    table(
      "Deliveries, newest first",
      [["Event"], ["State", "state"], ["Last response"], ["Attempts", "number"], ["Last attempt", "time"]],
      items.map(({ id, type, state, endpointId, attempts }) => [
        id,
        h("a", { href: `#/delivery/${encodeURIComponent(id)}` }, type),
        statePill(state),
        attempts.length === 0 ? "–" : responseText(attempts.at(-1), urls.get(endpointId)),
        numberText(attempts.length),
        attempts.length === 0 ? "–" : timeElement(attempts.at(-1).at),
      ]),
    ),
    h("p", { class: "actions" }, h("a", rest, `All deliveries of this card (${numberText(total)})`)),
  ];
}
