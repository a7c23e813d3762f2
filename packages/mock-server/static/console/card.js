/** One card: its balance, customer and history, and everything that a shop can do with it. */
import { callAsWebsite, get, getSandbox, post, put, remove } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { customerName, numberText, signed, walletTitle } from "./format.js";
import {
  button,
  copyable,
  empty,
  facts,
  field,
  form,
  heading,
  pager,
  pageSize,
  panel,
  table,
} from "./parts.js";
import { timeElement } from "./service-clock.js";

const kinds = [
  ["purchase", "Purchase: adds points"],
  ["reward", "Reward: adds points"],
  ["redeem", "Redemption: subtracts points"],
  ["correct", "Correction: adds or subtracts"],
];

const cardPath = (id, ...rest) => ["cards", id, ...rest].map(encodeURIComponent).join("/");

export const cardPage = {
  title: "Card",
  concerns: ["card", "operation", "customer"],

  async load({ id, offset }) {
    const [card, operations, settings, templates] = await Promise.all([
      get(cardPath(id)),
      get(cardPath(id, "operations"), { offset, limit: pageSize }),
      get("settings"),
      get("templates"),
    ]);
    const others = await get("cards", { customerId: card.customerId, limit: 100 });
    const template = templates.items.find((candidate) => candidate.id === card.templateId);
    return {
      card,
      operations,
      wallets: settings.wallets,
      template,
      others: others.items.filter((other) => other.id !== id),
    };
  },

  show({ card, operations, wallets, template, others }, state) {
    const { customer } = card;
    return [
      h("p", { class: "back" }, h("a", { href: "#/cards" }, "← All cards")),
      heading(
        customerName(customer),
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
      await put(cardPath(state.id, "wallets", wallet));
      showToast(`Added to ${walletTitle(wallet)}.`);
    },
    async "remove-from-wallet"(wallet, { state }) {
      await remove(cardPath(state.id, "wallets", wallet));
      showToast(`Removed from ${walletTitle(wallet)}.`);
    },
    async "cancel-operation"(id) {
      await post(`operations/${encodeURIComponent(id)}/cancel`);
      showToast("The operation was cancelled.");
    },
    "give-consent": (_id, { state }) => changeConsent(state.id, true),
    "withdraw-consent": (_id, { state }) => changeConsent(state.id, false),
  },

  submits: {
    async record(values, { form: filled, state }) {
      const kind = values.get("kind");
      const amount = values.get("amount") === "" ? null : Number(values.get("amount"));
      const { change } = await post(
        cardPath(state.id, kind),
        kind === "correct" ? { change: amount } : { points: amount },
      ).catch(asErrorOfAmount);
      filled.elements.amount.value = "";
      showToast(`Recorded: ${signed(change)} points.`);
    },
  },
};

/** The form has one field, `amount`; the service calls it `points` or `change`. */
function asErrorOfAmount(error) {
  for (const invalid of error.errors ?? []) invalid.pointer = "/amount";
  throw error;
}

const cardPreview = ({ loyaltyBalance, loyaltyTier, customer }, template) =>
  h(
    "div",
    { class: "card-preview" },
    h(
      "p",
      { class: "card-preview-top" },
      h("span", {}, template?.name ?? ""),
      loyaltyTier !== null && h("span", { class: "tier" }, loyaltyTier),
    ),
    h("p", { class: "card-preview-balance" }, h("strong", {}, numberText(loyaltyBalance)), " points"),
    h("p", { class: "card-preview-name" }, customer.name ?? ""),
  );

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
  const { apiKeys } = await getSandbox();
  await callAsWebsite("PUT", `passes/${encodeURIComponent(id)}/consent`, apiKeys.website, { marketing });
  showToast(marketing ? "Consent given." : "Consent withdrawn.");
}

function customerPanel({ customer }, others) {
  const { id, name, phone, email, marketingConsent, privacyVersion } = customer;
  return panel(
    "Customer",
    facts(
      ["Name", name ?? "–"],
      ["Phone", phone ?? "–"],
      ["Email", email ?? "–"],
      ["Privacy text", privacyVersion ?? "–"],
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
    [["Time"], ["Operation"], ["Change", "number"], ["Balance", "number"], ["", "last"]],
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
  );
}
