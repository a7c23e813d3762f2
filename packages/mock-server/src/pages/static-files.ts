/** The files of static/, made by `npm run generate`. Change them there. */
export const staticFiles: ReadonlyMap<string, string> = new Map([
  [
    "assets/card.css",
    `/* The styles of the pages that customers see. */

:root {
  color-scheme: light dark;
  --page: light-dark(#eef0f5, #0e1016);
  --text: light-dark(#1b1e27, #e9ebf2);
  --quiet: light-dark(#565c6b, #a2a8b8);
  --panel: light-dark(#ffffff, #181b24);
  --line: light-dark(#d6dae3, #2f3442);
  --link: light-dark(#3f37c9, #a5b4fc);
}

* {
  box-sizing: border-box;
}

body {
  margin: 0;
  min-height: 100svh;
  display: flex;
  flex-direction: column;
  align-items: center;
  gap: 28px;
  padding: clamp(16px, 6vh, 64px) 16px 24px;
  background: var(--page);
  color: var(--text);
  font:
    16px / 1.5 system-ui,
    -apple-system,
    "Segoe UI",
    Roboto,
    "Helvetica Neue",
    Arial,
    sans-serif;
  -webkit-font-smoothing: antialiased;
  overflow-wrap: anywhere;
}

main {
  width: min(100%, 380px);
  display: grid;
  gap: 22px;
}

a {
  color: var(--link);
}

:focus-visible {
  outline: 3px solid var(--link);
  outline-offset: 3px;
  border-radius: 14px;
}

/* The card */

.card {
  --from: #3b37a6;
  --to: #26225f;
  position: relative;
  overflow: hidden;
  display: grid;
  gap: 22px;
  padding: 24px;
  border-radius: 26px;
  color: #fff;
  background:
    radial-gradient(120% 70% at 100% 0%, rgb(255 255 255 / 0.2), transparent 60%),
    radial-gradient(90% 60% at 0% 100%, rgb(0 0 0 / 0.22), transparent 70%),
    linear-gradient(155deg, var(--from), var(--to));
  box-shadow:
    0 1px 0 rgb(255 255 255 / 0.18) inset,
    0 2px 4px rgb(15 17 30 / 0.16),
    0 14px 28px -14px rgb(15 17 30 / 0.5);
}

.card::before {
  content: "";
  position: absolute;
  inset: -40% -35% auto auto;
  width: 300px;
  height: 300px;
  border-radius: 50%;
  border: 44px solid rgb(255 255 255 / 0.05);
  pointer-events: none;
}

.card > * {
  position: relative;
}

.colour-1 {
  --from: #147067;
  --to: #0b4540;
}
.colour-2 {
  --from: #a03353;
  --to: #5d1c31;
}
.colour-3 {
  --from: #2b5cae;
  --to: #173463;
}
.colour-4 {
  --from: #8a4a24;
  --to: #4d2610;
}
.colour-5 {
  --from: #6a2fae;
  --to: #3b155f;
}

.card header {
  display: flex;
  align-items: start;
  justify-content: space-between;
  gap: 12px;
}

.card h1 {
  margin: 0;
  font-size: 1.2rem;
  line-height: 1.35;
  font-weight: 650;
  letter-spacing: -0.01em;
}

.tier {
  flex: none;
  max-width: 55%;
  padding: 3px 12px;
  border-radius: 14px;
  background: rgb(0 0 0 / 0.28);
  border: 1px solid rgb(255 255 255 / 0.4);
  font-size: 0.82rem;
  font-weight: 600;
}

.balance p {
  margin: 0;
  font-size: 1rem;
}

.balance strong {
  font-size: 3.4rem;
  line-height: 1;
  font-weight: 700;
  letter-spacing: -0.035em;
  font-variant-numeric: tabular-nums;
  margin-right: 4px;
}

.balance .next {
  font-size: 0.9rem;
}

progress {
  display: block;
  width: 100%;
  height: 6px;
  margin: 16px 0 8px;
  border: 0;
  border-radius: 3px;
  overflow: hidden;
  background: rgb(0 0 0 / 0.3);
  appearance: none;
}
progress::-webkit-progress-bar {
  background: rgb(0 0 0 / 0.3);
}
progress::-webkit-progress-value {
  background: #fff;
  border-radius: 3px;
}
progress::-moz-progress-bar {
  background: #fff;
  border-radius: 3px;
}

.holder {
  margin: 0;
  font-size: 1.05rem;
  font-weight: 600;
}

.holder span {
  display: block;
  font-size: 0.8rem;
  font-weight: 400;
}

.code {
  display: grid;
  justify-items: center;
  gap: 2px;
  padding: 12px 12px 14px;
  border-radius: 18px;
  background: #fff;
  color: #3d4250;
}

.code .qr {
  width: min(100%, 232px);
  height: auto;
}

.code p {
  margin: 0;
  font-size: 0.86rem;
}

/* Below the card */

.wallets {
  display: grid;
  justify-items: center;
  gap: 12px;
}

.wallets a {
  border-radius: 14px;
}

.wallets img {
  display: block;
}

.added {
  width: 240px;
  min-height: 56px;
  margin: 0;
  display: grid;
  place-items: center;
  border: 1.5px solid var(--line);
  border-radius: 14px;
  background: var(--panel);
  font-weight: 600;
}

main > .added {
  justify-self: center;
}

form {
  display: grid;
  gap: 16px;
  padding: 18px;
  border: 1px solid var(--line);
  border-radius: 18px;
  background: var(--panel);
}

form p {
  margin: 0;
}

button {
  min-height: 48px;
  border: 0;
  border-radius: 12px;
  background: light-dark(#1b1e27, #e9ebf2);
  color: light-dark(#ffffff, #15171e);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}

.back {
  margin: 0;
  text-align: center;
}

footer {
  margin-top: auto;
  color: var(--quiet);
  font-size: 0.82rem;
  text-align: center;
}

/* No card, or no files to show */

.lost {
  text-align: center;
  margin-block: auto;
  gap: 12px;
}

.lost h1 {
  margin: 0;
  font-size: 1.5rem;
  letter-spacing: -0.02em;
}

.lost p {
  margin: 0;
  color: var(--quiet);
}

.lost .lost-card {
  justify-self: center;
  width: 180px;
  aspect-ratio: 1.586;
  margin-bottom: 16px;
  display: grid;
  place-items: center;
  border: 2px dashed var(--line);
  border-radius: 16px;
  font-size: 2.2rem;
  font-weight: 700;
  letter-spacing: -0.03em;
  transform: rotate(-4deg);
}

pre {
  margin: 0;
  padding: 14px 18px;
  overflow-x: auto;
  border: 1px solid var(--line);
  border-radius: 14px;
  background: var(--panel);
}

code {
  font:
    0.9em ui-monospace,
    SFMono-Regular,
    Menlo,
    Consolas,
    monospace;
}
`,
  ],
  [
    "assets/icon.svg",
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Loyalty cards</title><rect width="32" height="32" rx="8" fill="#4f46e5"/><rect x="5" y="8.5" width="22" height="15" rx="3" fill="#fff"/><path fill="#4f46e5" d="M5 12h22v3H5zM8 18.5h8V20H8z"/></svg>
`,
  ],
  [
    "console/actions.js",
    `/** Calls the functions of the open page for clicks (\`data-action\`), forms (\`data-submit\`) and filters (\`data-filter\`). */
import { RequestError } from "./api.js";
import { moveClock } from "./clock.js";
import { copyBeside, showToast } from "./dialogs.js";

/** The actions of every page. */
const commonActions = {
  skip: () => document.getElementById("main").focus(),
  copy: (_id, { element }) => copyBeside(element),
  advance: (duration) => moveClock("advance", { duration }),
  "to-next-delivery": () => moveClock("advance-to-next-delivery"),
  page: (offset, { state }) => {
    state.offset = Number(offset);
    scrollTo(0, 0);
  },
};

const typingPauseMs = 150;

/**
 * @param getVisit returns the open page and its state.
 * @param refresh updates the page after an action.
 */
export function handleActions(getVisit, refresh) {
  let filterTimer;

  document.addEventListener("click", (event) => {
    const element = event.target.closest("[data-action]");
    if (element === null || element.ariaBusy === "true") return;
    if (element.localName === "a") event.preventDefault();
    const { action, id } = element.dataset;
    const { page, state } = getVisit();
    perform(element, () => (page.actions?.[action] ?? commonActions[action])(id, { element, state }));
  });

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-submit]");
    if (form === null) return;
    event.preventDefault();
    clearErrors(form);
    const submit = form.querySelector("button.primary");
    if (submit.ariaBusy === "true") return;
    const { page, state } = getVisit();
    perform(submit, async () => {
      try {
        await page.submits[form.dataset.submit](new FormData(form), { form, state });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        showErrors(form, error);
      }
    });
  });

  document.addEventListener("input", (event) => {
    const input = event.target.closest("[data-filter]");
    if (input === null) return;
    Object.assign(getVisit().state, { [input.dataset.filter]: input.value, offset: 0 });
    clearTimeout(filterTimer);
    filterTimer = setTimeout(refresh, input.type === "search" ? typingPauseMs : 0);
  });

  async function perform(element, act) {
    element.ariaBusy = "true";
    try {
      await act();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showToast(error.message, "error");
    } finally {
      element.ariaBusy = null;
    }
    await refresh();
  }
}

/** Shows each error beside its field, and the others below the form. */
function showErrors(form, { message, errors }) {
  const unplaced = [];
  for (const { pointer, detail } of errors) {
    const name = pointer.slice(1);
    const place = form.querySelector(\`[data-error="\${CSS.escape(name)}"]\`);
    if (name === "" || place === null) unplaced.push(detail);
    else {
      place.textContent = detail;
      form.elements.namedItem(name)?.setAttribute?.("aria-invalid", "true");
    }
  }
  if (errors.length === 0) unplaced.push(message);
  form.querySelector('[data-error=""]').textContent = unplaced.join(" ");
  form.querySelector("[aria-invalid]")?.focus();
}

function clearErrors(form) {
  for (const place of form.querySelectorAll("[data-error]")) place.textContent = "";
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}
`,
  ],
  [
    "console/api.js",
    `/** Calls the control API, and the public API where the console acts as a website. */

const control = new URL("../_mock/", import.meta.url);
const publicApi = new URL("../api/v1/", import.meta.url);

/** The world that the console shows; the service's default one when absent. */
export const worldId = new URLSearchParams(location.search).get("world");

/** An error response of the service, with its message. */
export class RequestError extends Error {
  constructor(problem) {
    super(problem.detail ?? problem.title ?? "The service responded with an error.");
    /** \`[{ pointer, detail }]\` of the invalid members. */
    this.errors = problem.errors ?? [];
    this.status = problem.status;
  }
}

export function controlUrl(path, query = {}) {
  const url = new URL(path, control);
  if (worldId !== null) url.searchParams.set("world", worldId);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

export const get = (path, query) => exchange("GET", controlUrl(path, query));
export const post = (path, body) => exchange("POST", controlUrl(path), body);
export const put = (path, body) => exchange("PUT", controlUrl(path), body);
export const update = (path, body) => exchange("PATCH", controlUrl(path), body);
export const remove = (path) => exchange("DELETE", controlUrl(path));

/** A call of the public API, as the server of a website makes it. */
export const callAsWebsite = (method, path, apiKey, body) =>
  exchange(method, new URL(path, publicApi), body, { authorization: \`Bearer \${apiKey}\` });

export const getWorld = () => get(\`worlds/\${encodeURIComponent(worldId ?? "default")}\`);

async function exchange(method, url, body, headers = {}) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new RequestError({ detail: "The service does not respond. Is it still running?" });
  });
  const text = await response.text();
  const content = text === "" ? undefined : parsed(text);
  if (!response.ok) throw new RequestError({ status: response.status, ...content });
  return content;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 200) };
  }
}
`,
  ],
  [
    "console/base.css",
    `/* Colours, elements of HTML, and the shadow of what scrolls sideways. */

:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7fa, #101218);
  --panel: light-dark(#ffffff, #181b23);
  --sunken: light-dark(#f1f3f7, #12141b);
  --text: light-dark(#191c24, #e8eaf1);
  --quiet: light-dark(#545b6b, #a3a9ba);
  --line: light-dark(#dfe3ea, #2b303d);
  --control: light-dark(#d3d8e2, #3b4152);
  --field: light-dark(#8a92a3, #6b7387);
  --accent: light-dark(#4338ca, #a5b4fc);
  --on-accent: light-dark(#ffffff, #14121f);
  --accent-soft: light-dark(#eef0ff, #232545);
  --good: light-dark(#0b6b3f, #6ee7a8);
  --good-soft: light-dark(#e2f5ea, #12301f);
  --wait: light-dark(#7a4b00, #fcd27a);
  --wait-soft: light-dark(#fdf1d8, #352a10);
  --bad: light-dark(#b01c2e, #ff9aa5);
  --bad-soft: light-dark(#fde8ea, #3a171c);
  --edge: light-dark(rgb(16 18 24 / 0.17), rgb(0 0 0 / 0.75));
  --shadow: 0 1px 2px rgb(16 18 24 / 0.05), 0 1px 8px rgb(16 18 24 / 0.04);
  --round: 12px;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
}

* {
  box-sizing: border-box;
}

html {
  scrollbar-gutter: stable;
}

body {
  margin: 0;
  background: var(--page);
  color: var(--text);
  font:
    15px / 1.5 system-ui,
    -apple-system,
    "Segoe UI",
    Roboto,
    "Helvetica Neue",
    Arial,
    sans-serif;
  -webkit-font-smoothing: antialiased;
}

h1,
h2,
h3,
p {
  margin: 0;
}

h1 {
  font-size: 1.65rem;
  line-height: 1.2;
  font-weight: 680;
  letter-spacing: -0.022em;
  overflow-wrap: anywhere;
}

h2 {
  font-size: 1.05rem;
  line-height: 1.35;
  font-weight: 640;
  letter-spacing: -0.008em;
}

h3 {
  font-size: 0.86rem;
  font-weight: 600;
  color: var(--quiet);
}

a {
  color: var(--accent);
  text-underline-offset: 3px;
}

/* Below the underscores of identifiers. */
code a,
a code {
  text-underline-offset: 5px;
}

code,
pre {
  font-family: var(--mono);
  font-size: 0.88em;
}

small {
  font-size: 0.84rem;
  color: var(--quiet);
}

ul,
ol,
dl,
dd {
  margin: 0;
  padding: 0;
}

ul {
  list-style: none;
}

:focus-visible {
  outline: 2.5px solid var(--accent);
  outline-offset: 2px;
  border-radius: 6px;
}

main:focus {
  outline: none;
}

.hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

.quiet {
  color: var(--quiet);
}

.strong {
  font-weight: 600;
}

.skip {
  position: fixed;
  z-index: 20;
  top: 8px;
  left: 8px;
  padding: 8px 14px;
  border-radius: 8px;
  background: var(--accent);
  color: var(--on-accent);
  transform: translateY(-200%);
}

.skip:focus {
  transform: none;
}

/* What scrolls sideways has a shadow at each edge; the covers scroll with the content and hide it at the end. */
.scroll,
#pages {
  --ground: var(--panel);
  overflow-x: auto;
  background:
    linear-gradient(to right, var(--ground) 35%, transparent) left / 36px 100% no-repeat local,
    linear-gradient(to left, var(--ground) 35%, transparent) right / 36px 100% no-repeat local,
    linear-gradient(to right, var(--edge), transparent) left / 14px 100% no-repeat scroll,
    linear-gradient(to left, var(--edge), transparent) right / 14px 100% no-repeat scroll,
    var(--ground);
}

@media (min-width: 821px) {
  #pages {
    overflow: visible;
    background: none;
  }
}
`,
  ],
  [
    "console/card-customer.js",
    `/** The customer of a card, and the consent to news and offers. */
import { callAsWebsite, getWorld } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { button, copyable, facts, panel } from "./parts.js";

/** Uses the public API: the control API has no consents. */
export async function changeConsent(id, marketing) {
  const { apiKeys } = await getWorld();
  await callAsWebsite("PUT", \`passes/\${encodeURIComponent(id)}/consent\`, apiKeys.website, { marketing });
  showToast(marketing ? "Consent given." : "Consent withdrawn.");
}

export function customerPanel({ customer }, others) {
  const { id, name, phone, email, marketingConsent, privacyVersion } = customer;
  return panel(
    "Customer",
    facts(
      ["Name", name ?? "–"],
      ["Phone", phone ?? "–"],
      ["E-mail", email ?? "–"],
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
          h("a", { class: "line", href: \`#/card/\${encodeURIComponent(other.id)}\` }, other.id),
        ),
      ],
    ),
  );
}
`,
  ],
  [
    "console/card-history.js",
    `/** The operations of a card, newest first, and the button that cancels one. */
import { h } from "./dom.js";
import { numberText, signed } from "./format.js";
import { button, empty, table } from "./parts.js";
import { timeOf } from "./service-clock.js";

const typeNames = {
  purchase: "Purchase",
  redemption: "Redemption",
  reward: "Reward",
  correction: "Correction",
  cancellation: "Cancellation",
};

export function historyOf({ items, total }) {
  if (total === 0)
    return empty(
      "No operations yet",
      "Record a purchase above. It appears here, and balance.changed is sent.",
    );
  return table(
    "History, newest first",
    [["Time"], ["Operation"], ["Change", "number"], ["Balance", "number"], ["", "last"]],
    items.map(({ id, type, change, balance, createdAt, isCancelled }) => [
      id,
      timeOf(createdAt),
      [typeNames[type] ?? type, isCancelled && h("span", { class: "pill quiet" }, "Cancelled")],
      signed(change),
      numberText(balance),
      !isCancelled &&
        type !== "cancellation" &&
        button("Cancel", "cancel-operation", {
          id,
          kind: "small",
          "aria-label": \`Cancel the \${(typeNames[type] ?? type).toLowerCase()} of \${signed(change)}\`,
        }),
    ]),
  );
}
`,
  ],
  [
    "console/card.js",
    `/** One card: its balance, customer and history, and everything that a shop can do with it. */
import { get, post, put, remove } from "./api.js";
import { changeConsent, customerPanel } from "./card-customer.js";
import { historyOf } from "./card-history.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { customerName, numberText, signed, walletTitle } from "./format.js";
import { button, copyable, facts, field, form, heading, pager, pageSize, panel } from "./parts.js";
import { timeOf } from "./service-clock.js";

const kinds = [
  ["purchase", "Purchase: adds points"],
  ["reward", "Reward: adds points"],
  ["redeem", "Redemption: subtracts points"],
  ["correct", "Correction: adds or subtracts"],
];

const pathOf = (id, ...rest) => ["cards", id, ...rest].map(encodeURIComponent).join("/");

export const cardPage = {
  title: "Card",
  concerns: ["card", "operation", "customer"],

  async load({ id, offset }) {
    const [card, operations, settings, templates] = await Promise.all([
      get(pathOf(id)),
      get(pathOf(id, "operations"), { offset, limit: pageSize }),
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
        \`Card of \${template?.name ?? card.templateId}\`,
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
        historyOf(operations),
        pager({ total: operations.total, offset: state.offset, noun: "the history" }),
      ),
      panel(
        "Details",
        facts(
          ["Card id", copyable(card.id, "the card's id")],
          ["Card page", copyable(card.publicUrl, "the address of the card's page")],
          ["Status", card.status],
          ["Issued via", card.issuedVia],
          card.issuedAt && ["Issued", timeOf(card.issuedAt)],
          ...Object.entries(card.fieldValues).map(([key, value]) => [\`Field “\${key}”\`, String(value)]),
        ),
      ),
    ];
  },

  actions: {
    async "add-to-wallet"(wallet, { state }) {
      await put(pathOf(state.id, "wallets", wallet));
      showToast(\`Added to \${walletTitle(wallet)}.\`);
    },
    async "remove-from-wallet"(wallet, { state }) {
      await remove(pathOf(state.id, "wallets", wallet));
      showToast(\`Removed from \${walletTitle(wallet)}.\`);
    },
    async "cancel-operation"(id) {
      await post(\`operations/\${encodeURIComponent(id)}/cancel\`);
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
        pathOf(state.id, kind),
        kind === "correct" ? { change: amount } : { points: amount },
      ).catch(asErrorOfAmount);
      filled.elements.amount.value = "";
      showToast(\`Recorded: \${signed(change)} points.\`);
    },
  },
};

/** The form has one field for what the service calls points or change. */
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
              "aria-label": \`Remove from \${walletTitle(wallet)}\`,
            })
          : button("Add", "add-to-wallet", {
              id: wallet,
              "data-key": "add",
              "aria-label": \`Add to \${walletTitle(wallet)}\`,
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
        field("What", "kind", { options: kinds, "data-filter": "kind" }),
        field("Points", "amount", {
          type: "number",
          step: "any",
          inputmode: "decimal",
          hint: kind === "correct" ? "A negative number subtracts points." : "More than 0.",
        }),
      ),
    ]),
  );
`,
  ],
  [
    "console/cards.js",
    `/** Customers and their cards: search, and a form that issues a card. */
import { callAsWebsite, get, getWorld } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { customerName, numberText, walletTitle } from "./format.js";
import { button, checkbox, empty, field, form, heading, pager, pageSize, panel, table } from "./parts.js";

export const cardsPage = {
  title: "Cards",
  concerns: ["card", "operation", "customer", "template"],

  async load({ query, offset }) {
    const [cards, templates] = await Promise.all([
      get("cards", { query, offset, limit: pageSize }),
      get("templates"),
    ]);
    return { cards, templates: templates.items };
  },

  show({ cards, templates }, state) {
    const open = templates.filter(({ isArchived }) => !isArchived);
    return [
      heading(
        "Cards",
        "Customers and the cards they were issued.",
        button("Issue a test card", "open-form", {
          kind: "primary",
          "aria-expanded": String(state.isOpen === true),
        }),
      ),
      state.isOpen && issueForm(open, state),
      h(
        "p",
        { class: "search", "data-key": "search" },
        h("label", { for: "search", class: "hidden" }, "Search cards"),
        h("input", {
          id: "search",
          name: "query",
          type: "search",
          "data-filter": "query",
          placeholder: "Name, phone, e-mail, card or customer id",
          autocomplete: "off",
        }),
      ),
      h("div", { "data-key": "list" }, listOf(cards, templates, state)),
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
      const { apiKeys } = await getWorld();
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
      const path = \`templates/\${encodeURIComponent(template)}/passes\`;
      const customer = { ...Object.fromEntries(contact), consents };
      const card = await callAsWebsite("POST", path, apiKeys.website, { fieldValues, customer });
      state.isOpen = false;
      showToast("The card was issued.");
      location.hash = \`#/card/\${encodeURIComponent(card.id)}\`;
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
        // The service shows the balance in a number field called points, whatever is given here.
        chosen.fields
          .filter(({ key, type }) => !(key === "points" && type === "number"))
          .map(({ key, type, label = key, required }) =>
            field(\`\${label}\${required ? "" : " (optional)"}\`, \`fieldValues/\${key}\`, {
              ...(type === "number" && { type: "number", step: "any" }),
            }),
          ),
        field("Phone (optional)", "customer/phone", { type: "tel", hint: "Finds the customer first." }),
        field("E-mail (optional)", "customer/email", {
          type: "email",
          hint: "Finds the customer when no phone does.",
        }),
        field("Customer’s name (optional)", "customer/name"),
      ),
      h("p", {}, checkbox("Wants news and offers", "marketing")),
    ]),
  );
}

function listOf({ items, total }, templates, { query }) {
  if (total === 0 && query) {
    return empty(
      \`No card matches “\${query}”\`,
      "Search for a part of a name, a phone number, an e-mail address or an id.",
    );
  }
  if (total === 0) {
    return empty(
      "No cards yet",
      "Your website issues one with POST /api/v1/templates/{templateId}/passes; the button above does the same.",
    );
  }
  const names = new Map(templates.map(({ id, name }) => [id, name]));
  return table(
    "Cards, newest first",
    [["Customer"], ["Balance", "number"], ["Level"], ["Wallets"], ["Template"]],
    items.map((card) => [
      card.id,
      h(
        "a",
        { href: \`#/card/\${encodeURIComponent(card.id)}\`, class: "strong" },
        customerName({ ...card.customer, name: card.customer.name ?? nameOn(card, templates) }),
      ),
      numberText(card.loyaltyBalance),
      card.loyaltyTier ?? "–",
      card.wallets.map(walletTitle).join(", ") || "–",
      names.get(card.templateId) ?? card.templateId,
    ]),
  );
}

/** The name that was given for the card: a customer may have none. */
function nameOn({ templateId, fieldValues }, templates) {
  const key = templates.find(({ id }) => id === templateId)?.fields.find(({ type }) => type === "name")?.key;
  return key && Object.hasOwn(fieldValues, key) ? String(fieldValues[key]) : undefined;
}
`,
  ],
  [
    "console/clock.js",
    `/** The service's clock: what time it is there, and how to move it. */
import { post, put } from "./api.js";
import { showToast } from "./dialogs.js";
import { h, patch } from "./dom.js";
import { dateTimeText, plural } from "./format.js";
import { button, facts, field, form, heading, panel } from "./parts.js";
import { readClock, serviceNowMs, tick, timeOf, untilText } from "./service-clock.js";

const modes = [
  ["system", "The machine’s time"],
  ["manual", "Stands still until moved"],
  ["scaled", "Runs, and can be moved"],
];

const modeTexts = {
  system: () => "the machine’s time; it cannot be moved",
  manual: () => "stands still until it is moved",
  scaled: (factor) =>
    factor === 1
      ? "runs like the machine’s, and can be moved"
      : \`runs \${factor} times as fast as the machine’s\`,
};

export async function moveClock(how, body) {
  const { fired } = await post(\`clock/\${how}\`, body);
  showToast(
    fired.length === 0
      ? "The clock was moved. No delivery attempt was due."
      : \`The clock was moved; \${plural(fired.length, "delivery attempt")} made.\`,
  );
  await showClockBar();
}

/** The clock in the top bar of every page. */
export async function showClockBar() {
  const clock = await readClock().catch(() => undefined);
  if (clock === undefined) return;
  const cannotMove = clock.mode === "system";
  patch(
    document.getElementById("clock"),
    h(
      "a",
      { href: "#/clock", class: "clock-now" },
      h("span", { class: "hidden" }, "Service time "),
      nowText(),
    ),
    h(
      "span",
      { class: "clock-moves" },
      moves.map(([label, duration]) =>
        button(label, "advance", {
          id: duration,
          kind: "small",
          disabled: cannotMove,
          "aria-label": \`\${label}: move the clock forward\`,
        }),
      ),
      button("Next delivery", "to-next-delivery", {
        kind: "small",
        disabled: cannotMove || clock.nextAttemptAt === undefined,
        "aria-label": "Next delivery: move the clock there",
      }),
    ),
  );
  tick();
}

const moves = [
  ["+1 min", "1m"],
  ["+1 h", "1h"],
  ["+6 h", "6h"],
];

const nowText = () => h("span", { class: "now", "data-now": true }, dateTimeText(serviceNowMs()));

export const clockPage = {
  title: "Clock",
  concerns: ["clock", "delivery"],
  load: readClock,

  show({ mode, factor, nextAttemptAt }, state) {
    const chosenMode = state.mode ?? mode;
    const cannotMove = mode === "system";
    return [
      heading("Clock", "The service’s own time. Retries, idempotency keys and events use it."),
      panel(
        "Now",
        h("p", { class: "big-now" }, nowText()),
        facts(
          ["The clock", (modeTexts[mode] ?? (() => mode))(factor)],
          [
            "Next delivery",
            nextAttemptAt
              ? [
                  h("span", { "data-until": nextAttemptAt }, untilText(nextAttemptAt)),
                  ", ",
                  timeOf(nextAttemptAt),
                ]
              : "nothing is waiting",
          ],
        ),
        h(
          "p",
          { class: "actions" },
          [
            ["+1 minute", "1m"],
            ["+1 hour", "1h"],
            ["+6 hours", "6h"],
            ["+1 day", "1d"],
          ].map(([label, duration]) => button(label, "advance", { id: duration, disabled: cannotMove })),
          button("To the next delivery", "to-next-delivery", {
            disabled: cannotMove || nextAttemptAt === undefined,
          }),
          button("Until all is delivered or failed", "run-until-idle", { disabled: cannotMove }),
        ),
        h(
          "p",
          { class: "quiet" },
          "Deliveries that become due are sent, in order, before the clock reaches the new time. Time never goes back.",
        ),
      ),
      panel(
        "Mode of the clock",
        form("change", "Set the clock", [
          h(
            "div",
            { class: "grid" },
            field("Mode", "mode", { options: modes, chosen: chosenMode, "data-filter": "mode" }),
            chosenMode === "scaled" &&
              field("Times as fast", "factor", {
                type: "number",
                step: "any",
                value: String(factor ?? 1),
                hint: "With 60, one second is a minute of the service.",
              }),
          ),
        ]),
      ),
    ];
  },

  actions: {
    "run-until-idle": () => moveClock("run-until-idle"),
  },

  submits: {
    async change(values) {
      const mode = values.get("mode");
      await put("clock", { mode, ...(mode === "scaled" && { factor: Number(values.get("factor")) }) });
      showToast("The clock was set.");
      await showClockBar();
    },
  },
};
`,
  ],
  [
    "console/deliveries.js",
    `/** The delivery log: every delivery with its last response, and when the next attempt is. */
import { get } from "./api.js";
import { deletedEndpoint, detailsOf, progressOf, resend, responseText, until } from "./delivery.js";
import { h } from "./dom.js";
import { stateNames, statePill } from "./format.js";
import { empty, heading, pager, pageSize } from "./parts.js";
import { timeOf } from "./service-clock.js";

export const deliveriesPage = {
  title: "Deliveries",
  concerns: ["delivery", "endpoint", "clock"],

  async load(visit) {
    visit.endpointId ??= visit.id; // the address may name an endpoint
    const { endpointId, type, state, offset } = visit;
    const [deliveries, endpoints, settings] = await Promise.all([
      get("webhooks/deliveries", { endpointId, type, state, offset, limit: pageSize }),
      get("webhooks/endpoints"),
      get("settings"),
    ]);
    return { deliveries, endpoints: endpoints.items, events: settings.events };
  },

  show({ deliveries, endpoints, events }, visit) {
    const urls = new Map(endpoints.map(({ id, url }) => [id, url]));
    const choices = new Map(urls);
    const chosen = visit.endpointId;
    if (chosen && !urls.has(chosen)) choices.set(chosen, deletedEndpoint(chosen));
    return [
      heading("Deliveries", "Each event to each endpoint that chose it, newest first."),
      h(
        "div",
        { class: "filters", role: "group", "aria-label": "Filter" },
        filter("State", "state", [["", "All states"], ...Object.entries(stateNames)], visit.state),
        filter("Event", "type", [["", "All events"], ...events.map((type) => [type, type])], visit.type),
        filter("Endpoint", "endpointId", [["", "All endpoints"], ...choices], visit.endpointId),
      ),
      h("div", { "data-key": "list" }, listOf(deliveries, endpoints, urls, visit)),
      pager({ total: deliveries.total, offset: visit.offset, noun: "deliveries" }),
    ];
  },

  actions: { resend },
};

const filter = (label, name, options, chosen = "") =>
  h(
    "label",
    {},
    h("span", {}, label),
    h(
      "select",
      { "data-filter": name, name },
      options.map(([value, text]) =>
        h("option", { value, selected: value === chosen, "data-key": \`option-\${value}\` }, text),
      ),
    ),
  );

function listOf({ items, total }, endpoints, urls, { state, type, endpointId }) {
  if (total === 0 && (state || type || endpointId))
    return empty("No such deliveries", "Choose other filters.");
  if (total === 0 && endpoints.length === 0) {
    return empty(
      "Nothing to deliver to",
      "Add an endpoint: events go to the endpoints that chose them.",
      h("a", { class: "button primary", href: "#/webhooks" }, "Add an endpoint"),
    );
  }
  if (total === 0) {
    return empty(
      "No deliveries yet",
      "Send a test from the endpoint, or record a purchase on a card.",
      h("a", { class: "button primary", href: "#/webhooks" }, "Send a test"),
      h("a", { class: "button", href: "#/cards" }, "Open a card"),
    );
  }
  return h(
    "div",
    { class: "log" },
    items.map((delivery) => entry(delivery, urls.get(delivery.endpointId))),
  );
}

function entry(delivery, url) {
  const { id, type, state, endpointId, attempts, nextAttemptAt } = delivery;
  const last = attempts.at(-1);
  return h(
    "details",
    { class: "entry", "data-key": id },
    h(
      "summary",
      {},
      statePill(state),
      h("span", { class: "entry-event" }, type),
      h("span", { class: "entry-url" }, url ?? deletedEndpoint(endpointId)),
      progressOf(delivery),
      h("span", { class: "entry-response" }, last === undefined ? "In progress" : responseText(last)),
      h(
        "span",
        { class: "entry-next" },
        nextAttemptAt ? ["Next ", until(nextAttemptAt)] : last && timeOf(last.at),
      ),
    ),
    h("div", { class: "entry-inside" }, detailsOf(delivery, url)),
  );
}
`,
  ],
  [
    "console/delivery.js",
    `/** One delivery: its attempts with their responses, its body, and the link that opens it. */
import { get, post } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { plural, statePill } from "./format.js";
import { button, copyable, facts, heading, panel, table } from "./parts.js";
import { timeOf, untilText } from "./service-clock.js";

export const deliveryPage = {
  title: "Delivery",
  concerns: ["delivery", "endpoint", "clock"],

  async load({ id }) {
    const [delivery, endpoints] = await Promise.all([
      get(\`webhooks/deliveries/\${encodeURIComponent(id)}\`),
      get("webhooks/endpoints"),
    ]);
    return { delivery, url: endpoints.items.find((endpoint) => endpoint.id === delivery.endpointId)?.url };
  },

  show({ delivery, url }) {
    return [
      h("p", { class: "back" }, h("a", { href: "#/deliveries" }, "← All deliveries")),
      heading(delivery.type, url ?? deletedEndpoint(delivery.endpointId), statePill(delivery.state)),
      panel("Delivery attempts", progressOf(delivery), detailsOf(delivery, url)),
    ];
  },

  actions: { resend },
};

/** The log keeps deliveries to a deleted endpoint, but not its address. */
export const deletedEndpoint = (id) => \`\${id} (deleted)\`;

export async function resend(id) {
  await post(\`webhooks/deliveries/\${encodeURIComponent(id)}/resend\`);
  showToast("The delivery is sent again.");
}

/** The address of the console with this delivery open; \`?world=\` stays in it. */
const linkTo = (id) => new URL(\`#/delivery/\${encodeURIComponent(id)}\`, location.href).href;

/** @param url of the endpoint; undefined when the endpoint was deleted. */
export function detailsOf(delivery, url) {
  const { id, eventId, attempts, nextAttemptAt, body } = delivery;
  return [
    attempts.length === 0
      ? h("p", {}, "The first attempt is in progress.")
      : table(
          "Delivery attempts",
          [["#", "number"], ["Time"], ["Response"], ["Duration", "number"], ["Signature time from"]],
          attempts.map((attempt, index) => [
            String(index),
            String(index + 1),
            timeOf(attempt.at),
            responseText(attempt),
            \`\${attempt.durationMs} ms\`,
            signedWith(attempt),
          ]),
        ),
    nextAttemptAt && h("p", {}, "Next attempt ", until(nextAttemptAt), " at ", timeOf(nextAttemptAt), "."),
    url === undefined
      ? h("p", { class: "quiet" }, "The endpoint was deleted, so this delivery cannot be sent again.")
      : h("p", { class: "actions" }, button("Resend", "resend", { id })),
    facts(
      [
        "Link to this delivery",
        copyable(h("a", { href: linkTo(id) }, linkTo(id)), "the link to this delivery"),
      ],
      ["Service-Delivery", copyable(id, "the delivery's id")],
      ["Event id", copyable(eventId, "the event's id")],
    ),
    h("h3", {}, "Body"),
    h(
      "pre",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Body" },
      h("code", {}, indented(body)),
    ),
  ];
}

export const until = (iso) => h("span", { "data-until": iso }, untilText(iso));

/** The first attempt and five retries (spec 3.2). */
const maxAttempts = 6;

/** One mark per attempt of the schedule: failed, delivered, or to come. */
export function progressOf({ attempts, state, failures }) {
  const marks = Array.from({ length: maxAttempts }, (_, index) => {
    if (index < failures) return "failed";
    return state === "delivered" && index === failures ? "delivered" : "";
  });
  return h(
    "span",
    { class: "marks", role: "img", "aria-label": plural(attempts.length, "attempt") },
    marks.map((mark) => h("i", { class: mark })),
  );
}

export const responseText = ({ status, error }) =>
  status === undefined ? (error ?? "No response") : String(status);

const signedWith = ({ signedWith: clock, signedAt }) => {
  if (clock === undefined) return "–";
  const name = clock === "machine" ? "this machine" : "the service";
  return [name, signedAt && [", ", timeOf(signedAt)]];
};

function indented(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
`,
  ],
  [
    "console/dialogs.js",
    `/** Confirmations, secrets that are shown once, short messages, and the clipboard. */
import { h } from "./dom.js";
import { copyable } from "./parts.js";

/** @returns whether the user confirmAction. */
export const confirmAction = (question, consequence, label) =>
  openDialog(
    h("h2", {}, question),
    h("p", {}, consequence),
    h(
      "form",
      { method: "dialog", class: "actions" },
      h("button", { value: "no", autofocus: true }, "Keep as it is"),
      h("button", { value: "yes", class: "danger" }, label),
    ),
  ).then((value) => value === "yes");

/** A secret: on the page only as long as the dialog is open. */
export const showSecret = (title, text, explanation) =>
  openDialog(
    h("h2", {}, title),
    h("p", {}, explanation),
    h("p", { class: "secret" }, copyable(text, "it")),
    h("form", { method: "dialog", class: "actions" }, h("button", { class: "primary" }, "I have copied it")),
  );

function openDialog(...content) {
  const dialog = h("dialog", {}, content);
  const title = dialog.querySelector("h2");
  title.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", title.id);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

const toastMs = 5000;

export function showToast(text, kind = "done") {
  const toast = h("p", { class: \`toast \${kind}\` }, text);
  document.getElementById("toasts").append(toast);
  setTimeout(() => toast.remove(), kind === "error" ? 2 * toastMs : toastMs);
}

/** Copies the text beside the button. */
export async function copyBeside(pressed) {
  const source = pressed.previousElementSibling;
  if (await copied(source.textContent)) return;
  getSelection().selectAllChildren(source);
  showToast("Selected: press Ctrl+C or ⌘C to copy it.");
}

/** Copies a text that is not on the page; shows it when the browser does not allow copying. */
export async function copyText(text, title) {
  if (await copied(text)) return;
  await showSecret(title, text, "The browser does not allow this page to copy. Select the text and copy it.");
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return false;
  }
  showToast("Copied.");
  return true;
}
`,
  ],
  [
    "console/dom.js",
    `/** Makes elements, and brings what is on the page up to date without losing focus, scroll or what is being typed. */

/** Children may be nodes, texts, numbers, lists of those; what is null, undefined or false is left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    element.setAttribute(attribute, value === true ? "" : value);
  }
  element.append(...nodesOf(children)); // texts stay texts: nothing is ever parsed as HTML
  return element;
}

/** Makes the children of an element what is wanted, keeping the elements that are there already. */
export function patch(target, ...children) {
  morphChildren(target, nodesOf(children));
}

function nodesOf(children) {
  return children
    .flat(Number.POSITIVE_INFINITY)
    .filter((child) => child !== undefined && child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

function morphChildren(target, wanted) {
  const keyed = new Map();
  for (const child of target.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  let at = target.firstChild;
  for (const node of wanted) {
    const key = node.dataset?.key;
    const match = key ? keyed.get(key) : at;
    if (!match || !areAlike(match, node)) {
      target.insertBefore(node, at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else target.insertBefore(match, at);
    morph(match, node);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const areAlike = (a, b) => a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key;

/** Attributes that the user or an error response has set; an update of the page leaves them. */
const keptAttributes = new Set(["open", "aria-invalid", "aria-busy"]);

function morph(element, wanted) {
  if (!(element instanceof Element)) {
    if (element.data !== wanted.data) element.data = wanted.data;
    return;
  }
  for (const { name } of [...element.attributes]) {
    if (!wanted.hasAttribute(name) && !keptAttributes.has(name)) element.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  // Rows that the user added to a form, and its error messages, stay as they are.
  if (!element.hasAttribute("data-keep")) morphChildren(element, [...wanted.childNodes]);
}
`,
  ],
  [
    "console/faults.js",
    `/** Faults: errors that are injected to test a website or a receiver. */
import { get, post, remove } from "./api.js";
import { confirmAction, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { button, empty, field, form, heading, panel } from "./parts.js";

/** The title of each kind, its own fields in the form, and whether it applies to requests or to deliveries. */
const kinds = {
  status: { title: "An error status", fields: ["status", "retryAfterSeconds"], target: "requests" },
  latency: { title: "A late response", fields: ["delayMs"], target: "requests" },
  reset: { title: "The connection is reset", fields: [], target: "requests" },
  destroy: { title: "The connection is closed", fields: [], target: "requests" },
  truncate: { title: "Half of the body", fields: [], target: "requests" },
  malformed: { title: "A malformed chunk", fields: [], target: "requests" },
  hang: { title: "No response at all", fields: [], target: "requests" },
  html: { title: "A gateway’s HTML page", fields: ["status"], target: "requests" },
  duplicate: { title: "An event arrives twice", fields: [], target: "deliveries" },
  reorder: { title: "An event is overtaken", fields: [], target: "deliveries" },
  drop: { title: "An attempt is lost", fields: [], target: "deliveries" },
};

const operations = ["issueCard", "getCard", "listOperations", "getConsent", "setConsent"];
const whole = (form) => ({ type: "number", inputmode: "numeric", ...form });

const kindFields = {
  status: (kind) =>
    field("Status", "status", whole({ min: "400", max: "599", value: kind === "html" ? "502" : "503" })),
  retryAfterSeconds: () =>
    field("Retry-After, in seconds (optional)", "retryAfterSeconds", whole({ min: "0" })),
  delayMs: () => field("Late by, in milliseconds", "delayMs", whole({ min: "0", value: "3000" })),
};

export const faultsPage = {
  title: "Faults",
  concerns: ["fault", "endpoint"],

  async load() {
    const [faults, settings, endpoints] = await Promise.all([
      get("faults"),
      get("settings"),
      get("webhooks/endpoints"),
    ]);
    return { faults: faults.items, events: settings.events, endpoints: endpoints.items };
  },

  show({ faults, events, endpoints }, { kind = "status" }) {
    return [
      heading(
        "Faults",
        "Errors that are injected on purpose. The first rule that matches a request is applied.",
        faults.length > 0 && button("Remove all", "remove-all", { kind: "danger" }),
      ),
      faults.length === 0
        ? empty("No faults", "Add a fault below to test how your website or receiver handles it.")
        : h("ul", { class: "cards", "data-key": "list" }, faults.map(faultCard)),
      addForm(kind, events, endpoints),
    ];
  },

  actions: {
    async "remove-fault"(id) {
      await remove(\`faults/\${encodeURIComponent(id)}\`);
      showToast("The fault was removed.");
    },
    async "remove-all"() {
      if (!(await confirmAction("Remove all faults?", "Requests and deliveries work again.", "Remove all")))
        return;
      await remove("faults");
      showToast("All faults were removed.");
    },
  },

  submits: {
    async add(values) {
      const kind = values.get("kind");
      const match = givenOf(values, ["operation", "method", "path", "idempotencyKey", "event", "endpointId"]);
      await post("faults", {
        kind,
        ...(kinds[kind].target === "requests" && { phase: values.get("phase") }),
        ...numbersOf(values, ["times", "status", "retryAfterSeconds", "delayMs"]),
        ...(Object.keys(match).length > 0 && { match }),
      });
      showToast("The fault was added.");
    },
  },
};

const givenOf = (values, names) =>
  Object.fromEntries(
    names.map((name) => [name, values.get(name)]).filter(([, value]) => value !== null && value !== ""),
  );
const numbersOf = (values, names) =>
  Object.fromEntries(Object.entries(givenOf(values, names)).map(([name, value]) => [name, Number(value)]));

function addForm(kind, events, endpoints) {
  const { fields, target } = kinds[kind];
  const any = (text, values) => [
    ["", text],
    ...values.map((value) => (Array.isArray(value) ? value : [value, value])),
  ];
  return panel(
    "Add a fault",
    form("add", "Add the fault", [
      h(
        "div",
        { class: "grid" },
        field("Fault", "kind", {
          options: Object.entries(kinds).map(([name, { title }]) => [name, title]),
          "data-filter": "kind",
        }),
        target === "requests" &&
          field("When", "phase", {
            options: [
              ["before", "Before the work: nothing is done"],
              ["after-commit", "After the work: only the response fails"],
            ],
          }),
        fields.map((name) => kindFields[name](kind)),
        field(
          "How often (optional)",
          "times",
          whole({ min: "1", hint: "Until it is removed, when left empty." }),
        ),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Only for"),
        h(
          "div",
          { class: "grid" },
          target === "requests"
            ? [
                field("Operation", "operation", { options: any("Any operation", operations) }),
                field("Method", "method", { options: any("Any method", ["GET", "POST", "PUT"]) }),
                field("Path (optional)", "path", { placeholder: "/api/v1/passes/*", hint: "* is any text." }),
                field("Idempotency-Key (optional)", "idempotencyKey"),
              ]
            : [
                field("Event", "event", { options: any("Any event", events) }),
                field("Endpoint", "endpointId", {
                  options: any(
                    "Any endpoint",
                    endpoints.map(({ id, url }) => [id, url]),
                  ),
                }),
              ],
        ),
      ),
    ]),
  );
}

const faultCard = ({ id, kind, phase, times, match = {}, status, delayMs, retryAfterSeconds }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h(
      "header",
      {},
      h(
        "div",
        {},
        h("h2", {}, kinds[kind]?.title ?? kind),
        h(
          "p",
          { class: "quiet" },
          [
            phase === "before" && "before the work",
            phase === "after-commit" && "after the work",
            status !== undefined && \`status \${status}\`,
            delayMs !== undefined && \`\${delayMs} ms late\`,
            retryAfterSeconds !== undefined && \`Retry-After \${retryAfterSeconds} s\`,
            times === undefined ? "until it is removed" : plural(times, "more time"),
          ]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
      button("Remove", "remove-fault", {
        id,
        kind: "small",
        "aria-label": \`Remove the fault: \${kinds[kind]?.title ?? kind}\`,
      }),
    ),
    Object.keys(match).length > 0 &&
      h(
        "ul",
        { class: "chips", "aria-label": "Only for" },
        Object.entries(match).map(([name, value]) => h("li", {}, \`\${name}: \${value}\`)),
      ),
  );
`,
  ],
  [
    "console/format.js",
    `/** Formats times, numbers, states and names. */
import { h } from "./dom.js";

const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const timeFormat = new Intl.DateTimeFormat(undefined, time);
const dateTimeFormat = new Intl.DateTimeFormat(undefined, {
  ...time,
  year: "numeric",
  month: "short",
  day: "2-digit",
});
const fullFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: "full",
  timeStyle: "long",
  hourCycle: "h23",
});
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const numberText = (number) => numberFormat.format(number);
export const signed = (number) =>
  number > 0 ? \`+\${numberText(number)}\` : numberText(number).replace("-", "−");
export const dateTimeText = (at) => dateTimeFormat.format(new Date(at));
/** With weekday and time zone. */
export const fullTimeText = (at) => fullFormat.format(new Date(at));
/** Without the date when it is the same day as \`nowMs\` in the browser's time zone. */
export const timeText = (at, nowMs) =>
  new Date(at).toDateString() === new Date(nowMs).toDateString()
    ? timeFormat.format(new Date(at))
    : dateTimeText(at);

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** The two largest units: "5 h 59 min". */
export function durationText(ms) {
  const parts = [];
  let rest = Math.max(0, ms);
  for (const [unit, length] of units) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(\`\${count} \${unit}\`);
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

export const stateNames = { pending: "Pending", delivered: "Delivered", failed: "Failed" };
export const statePill = (state) => h("span", { class: \`pill \${state}\` }, stateNames[state] ?? state);

export const customerName = ({ name, phone, email }) => name || phone || email || "Unnamed customer";
export const walletTitle = (wallet) => \`\${wallet.slice(0, 1).toUpperCase()}\${wallet.slice(1)} Wallet\`;
export const plural = (count, noun) => \`\${numberText(count)} \${noun}\${count === 1 ? "" : "s"}\`;
`,
  ],
  [
    "console/forms.css",
    `/* Buttons, fields, forms, filters. */

button,
.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  min-height: 38px;
  padding: 0 15px;
  border: 1px solid var(--control);
  border-radius: 9px;
  background: var(--panel);
  color: var(--text);
  font: inherit;
  font-weight: 560;
  text-decoration: none;
  white-space: nowrap;
  cursor: pointer;
}

button:hover,
.button:hover {
  border-color: var(--field);
}

button:active,
.button:active {
  background: var(--sunken);
}

button.small {
  min-height: 30px;
  padding: 0 10px;
  border-radius: 7px;
  font-size: 0.87rem;
}

button.primary,
.button.primary {
  border-color: transparent;
  background: var(--accent);
  color: var(--on-accent);
}

button.danger {
  color: var(--bad);
}

button:disabled {
  cursor: default;
  opacity: 0.5;
  border-color: var(--control);
}

button[aria-busy] {
  cursor: progress;
}

input:not([type="checkbox"]),
select {
  width: 100%;
  min-height: 40px;
  padding: 0 12px;
  border: 1px solid var(--field);
  border-radius: 9px;
  background: var(--panel);
  color: var(--text);
  font: inherit;
}

select {
  padding-right: 6px;
}

input::placeholder {
  color: var(--quiet);
  opacity: 1;
}

input[aria-invalid] {
  border-color: var(--bad);
}

input[type="checkbox"] {
  width: 18px;
  height: 18px;
  margin: 0;
  accent-color: var(--accent);
}

form {
  display: flex;
  flex-direction: column;
  gap: 16px;
}

form > div:first-child {
  min-width: 0;
}

.grid {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 230px), 1fr));
  gap: 16px;
  align-items: start;
}

.field {
  display: grid;
  gap: 5px;
  align-content: start;
}

.field label,
legend {
  font-size: 0.9rem;
  font-weight: 580;
}

.form-error {
  color: var(--bad);
  font-size: 0.9rem;
}

.form-error:empty {
  display: none;
}

fieldset {
  margin: 0;
  padding: 0;
  border: 0;
  min-width: 0;
  display: grid;
  gap: 10px;
  justify-items: start;
}

fieldset > * {
  width: 100%;
}

fieldset > button {
  width: auto;
}

legend {
  padding: 0;
  margin-bottom: 8px;
  font-size: 1rem;
}

.form-rows {
  display: grid;
  gap: 10px;
}

.form-row {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 130px), 1fr));
  gap: 12px;
  align-items: end;
  padding: 12px;
  border-radius: 10px;
  background: var(--sunken);
}

.form-row .check,
.form-row button {
  min-height: 40px;
}

.form-row button {
  grid-column-end: -1;
  justify-self: end;
}

.check {
  display: inline-flex;
  align-items: center;
  gap: 9px;
  min-height: 30px;
}

.checks {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(170px, 1fr));
  gap: 6px 16px;
}

.search input {
  min-height: 44px;
}

.filters {
  display: grid;
  grid-template-columns: minmax(0, 1fr) minmax(0, 1fr) minmax(0, 1.6fr);
  gap: 12px;
}

.filters span {
  display: block;
  margin-bottom: 4px;
  font-size: 0.86rem;
  color: var(--quiet);
}

@media (max-width: 820px) {
  .filters {
    grid-template-columns: repeat(2, minmax(0, 1fr));
  }
  .filters label:last-child {
    grid-column: 1 / -1;
  }
}
`,
  ],
  [
    "console/index.html",
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>Loyalty cards console</title>
    <link rel="icon" href="assets/icon.svg" />
    <link rel="stylesheet" href="console/base.css" />
    <link rel="stylesheet" href="console/layout.css" />
    <link rel="stylesheet" href="console/panels.css" />
    <link rel="stylesheet" href="console/tables.css" />
    <link rel="stylesheet" href="console/forms.css" />
    <link rel="stylesheet" href="console/pages.css" />
    <script type="module" src="console/main.js"></script>
  </head>
  <body>
    <a class="skip" href="#main" data-action="skip">Skip to the content</a>
    <div class="shell">
      <aside class="side">
        <a class="brand" href="#/">
          <img src="assets/icon.svg" alt="" width="28" height="28" />
          <span>Loyalty cards <small>mock service</small></span>
        </a>
        <nav id="pages" aria-label="Console">
          <a href="#/">Start</a>
          <a href="#/cards">Cards</a>
          <a href="#/templates">Templates</a>
          <a href="#/webhooks">Webhooks</a>
          <a href="#/deliveries">Deliveries</a>
          <a href="#/warnings">Warnings <span id="warning-count" class="badge" hidden></span></a>
          <a href="#/clock">Clock</a>
          <a href="#/faults">Faults</a>
          <a href="#/keys">API keys</a>
        </nav>
        <p class="elsewhere"><a href="api/docs">API reference</a></p>
      </aside>
      <header class="top">
        <p id="connection" class="connection" role="status">Connecting…</p>
        <div id="world"></div>
        <section id="clock" class="clock-bar" aria-label="The service's clock"></section>
      </header>
      <main id="main" tabindex="-1">
        <noscript><p class="notice">The console needs JavaScript.</p></noscript>
      </main>
    </div>
    <div id="toasts" class="toasts" role="status" aria-live="polite"></div>
  </body>
</html>
`,
  ],
  [
    "console/keys.js",
    `/** API keys: create and revoke them. */
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
      await remove(\`api-keys/\${encodeURIComponent(id)}\`);
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
      copyable(key, \`the key \${name || kind}\`),
    ),
    button("Revoke", "revoke", { id, kind: "small", "aria-label": \`Revoke \${name || kind}\` }),
  );
`,
  ],
  [
    "console/layout.css",
    `/* The layout of every page: navigation, top bar, content. */

.shell {
  min-height: 100svh;
  display: grid;
  grid-template: "side top" auto "side main" 1fr / 232px minmax(0, 1fr);
}

.side {
  grid-area: side;
  position: sticky;
  top: 0;
  height: 100svh;
  display: flex;
  flex-direction: column;
  gap: 20px;
  padding: 20px 14px;
  border-right: 1px solid var(--line);
  background: var(--panel);
}

.brand {
  display: flex;
  align-items: center;
  gap: 11px;
  padding: 2px 8px;
  color: inherit;
  font-weight: 660;
  line-height: 1.2;
  text-decoration: none;
}

.brand small {
  display: block;
  font-weight: 400;
}

#pages {
  display: grid;
  gap: 2px;
}

#pages a {
  padding: 8px 12px;
  border-radius: 8px;
  color: var(--quiet);
  font-weight: 520;
  text-decoration: none;
}

#pages a:hover {
  background: var(--sunken);
  color: var(--text);
}

#pages a[aria-current] {
  background: var(--accent-soft);
  color: var(--accent);
  font-weight: 620;
}

.badge {
  display: inline-block;
  min-width: 22px;
  margin-left: 4px;
  padding: 0 6px;
  border-radius: 99px;
  background: var(--wait-soft);
  color: var(--wait);
  font-size: 0.8rem;
  font-weight: 640;
  text-align: center;
  font-variant-numeric: tabular-nums;
}

[hidden] {
  display: none;
}

.elsewhere {
  margin-top: auto;
  padding: 0 12px;
  font-size: 0.9rem;
}

.top {
  grid-area: top;
  position: sticky;
  z-index: 5;
  top: 0;
  min-height: 58px;
  display: flex;
  align-items: center;
  justify-content: flex-end;
  gap: 20px;
  padding: 9px clamp(16px, 3vw, 36px);
  border-bottom: 1px solid var(--line);
  background: var(--page);
}

.connection {
  margin-right: auto;
  display: flex;
  align-items: center;
  gap: 8px;
  color: var(--quiet);
  font-size: 0.88rem;
}

.connection::before {
  content: "";
  width: 8px;
  height: 8px;
  border-radius: 50%;
  background: var(--good);
}

.connection.lost::before {
  background: var(--bad);
}

#world label {
  display: flex;
  align-items: center;
  gap: 8px;
  font-size: 0.88rem;
  color: var(--quiet);
}

#world select {
  max-width: 180px;
}

.clock-bar {
  min-height: 36px;
  display: flex;
  align-items: center;
  gap: 14px;
}

.clock-now {
  color: inherit;
  text-decoration: none;
  white-space: nowrap;
}

.now {
  font-weight: 600;
  font-variant-numeric: tabular-nums;
}

.clock-moves {
  display: flex;
  gap: 6px;
}

main {
  grid-area: main;
  width: 100%;
  max-width: 1180px;
  padding: 28px clamp(16px, 3vw, 36px) 96px;
  display: flex;
  flex-direction: column;
  gap: 20px;
}

.heading {
  display: flex;
  flex-wrap: wrap;
  align-items: end;
  justify-content: space-between;
  gap: 12px 24px;
}

.heading p {
  color: var(--quiet);
  margin-top: 4px;
}

.actions {
  display: flex;
  flex-wrap: wrap;
  gap: 8px;
}

.heading > .actions {
  align-items: center;
}

.back {
  margin-bottom: -10px;
  font-size: 0.92rem;
}

@media (max-width: 820px) {
  .shell {
    grid-template: "top" auto "side" auto "main" 1fr / minmax(0, 1fr);
  }
  .top {
    position: static;
    border-bottom: 0;
    min-height: 52px;
    gap: 12px;
  }
  .clock-moves {
    display: none;
  }
  .side {
    z-index: 5;
    height: auto;
    padding: 0;
    border-right: 0;
    border-bottom: 1px solid var(--line);
    background: var(--page);
  }
  .brand,
  .elsewhere {
    display: none;
  }
  #pages {
    --ground: var(--page);
    display: flex;
    gap: 4px;
    padding: 6px 12px 10px;
    scrollbar-width: none;
  }
  #pages a {
    white-space: nowrap;
  }
  main {
    padding-top: 20px;
  }
}
`,
  ],
  [
    "console/live.js",
    `/** Receives the changes of the service as server-sent events, and connects again after a disconnect. */
import { controlUrl } from "./api.js";

const types = [
  "apiKey",
  "template",
  "customer",
  "card",
  "operation",
  "endpoint",
  "delivery",
  "clock",
  "fault",
  "warning",
];
const pauseMs = 2000;

/**
 * @param onChange is called with the type of what changed, or undefined when anything may have changed.
 * @param onConnection is called with whether the service is connected.
 */
export function listen(onChange, onConnection) {
  const source = new EventSource(controlUrl("events"));
  for (const type of types) source.addEventListener(type, () => onChange(type));
  source.addEventListener("reset", () => onChange(undefined));
  source.addEventListener("hello", () => {
    onConnection(true);
    onChange(undefined); // changes before the connection are not sent
  });
  source.addEventListener("error", () => {
    onConnection(false);
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => listen(onChange, onConnection), pauseMs);
  });
}
`,
  ],
  [
    "console/main.js",
    `/** Opens the page that the address names, and keeps it up to date. */

import { handleActions } from "./actions.js";
import { RequestError } from "./api.js";
import { cardPage } from "./card.js";
import { cardsPage } from "./cards.js";
import { clockPage, showClockBar } from "./clock.js";
import { deliveriesPage } from "./deliveries.js";
import { deliveryPage } from "./delivery.js";
import { h, patch } from "./dom.js";
import { faultsPage } from "./faults.js";
import { keysPage } from "./keys.js";
import { listen } from "./live.js";
import { heading } from "./parts.js";
import { tick } from "./service-clock.js";
import { startPage } from "./start.js";
import { templatesPage } from "./templates.js";
import { showWarningCount, warningsPage } from "./warnings.js";
import { webhooksPage } from "./webhooks.js";
import { showWorlds } from "./worlds.js";

const pages = {
  "": startPage,
  cards: cardsPage,
  card: cardPage,
  templates: templatesPage,
  webhooks: webhooksPage,
  deliveries: deliveriesPage,
  delivery: deliveryPage,
  warnings: warningsPage,
  clock: clockPage,
  faults: faultsPage,
  keys: keysPage,
};

/** The entry of the navigation that is marked on the page of one item. */
const parents = { card: "cards", delivery: "deliveries" };

const main = document.getElementById("main");
const navigation = document.getElementById("pages");
/** The open page with its state: the id in the address, filters and open forms. */
let visit;

async function openPage() {
  const [name = "", id = ""] = location.hash.replace(/^#\\/?/, "").split("/").map(decoded);
  const page = Object.hasOwn(pages, name) ? pages[name] : startPage;
  visit = { page, state: { id, offset: 0 }, isFresh: true };
  markPlace(\`#/\${parents[name] ?? name}\`);
  await refresh();
}

/** An address that is not valid percent-encoding names nothing. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function markPlace(address) {
  for (const link of navigation.querySelectorAll("a")) {
    if (link.getAttribute("href") !== address) {
      link.removeAttribute("aria-current");
      continue;
    }
    link.setAttribute("aria-current", "page");
    // On a phone the links are one row that scrolls; scrollIntoView would move the page too.
    navigation.scrollLeft = link.offsetLeft - (navigation.clientWidth - link.offsetWidth) / 2;
  }
}

let isReading = false;
let mustReadAgain = false;

/** Loads the data of the page and shows it. A call during a load makes it load once more. */
async function refresh() {
  if (isReading) {
    mustReadAgain = true;
    return;
  }
  isReading = true;
  try {
    do {
      mustReadAgain = false;
      const current = visit;
      const content = await contentOf(current);
      if (current !== visit) mustReadAgain = true;
      else if (content !== undefined) show(current, content);
    } while (mustReadAgain);
  } finally {
    isReading = false;
  }
}

/** Undefined when the service does not respond and the page has content already: a form may be half filled in. */
async function contentOf({ page, state, isFresh }) {
  try {
    return page.show(await page.load(state), state);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status === undefined && !isFresh) return undefined;
    const back = h("a", { class: "button", href: "#/" }, "Back to the start");
    return [heading(page.title, error.message, back)];
  }
}

function show(current, content) {
  if (current.isFresh) {
    current.isFresh = false;
    document.title = \`\${current.page.title} – Loyalty cards console\`;
    main.replaceChildren();
    scrollTo(0, 0);
  }
  patch(main, content);
  tick();
}

function showConnection(isThere) {
  const place = document.getElementById("connection");
  place.textContent = isThere ? "Live" : "Reconnecting…";
  place.classList.toggle("lost", !isThere);
}

/** A test run makes hundreds of changes a second; the page is updated a few times a second. */
const lookEveryMs = 120;
const unseen = new Set();

function changed(type) {
  if (unseen.size === 0) setTimeout(look, lookEveryMs);
  unseen.add(type);
}

function look() {
  const types = [...unseen];
  unseen.clear();
  const concerns = (wanted) => types.some((type) => type === undefined || wanted.includes(type));
  if (concerns(["clock", "delivery"])) void showClockBar();
  if (concerns(["warning"])) void showWarningCount();
  if (concerns(visit.page.concerns)) void refresh();
}

addEventListener("hashchange", () => {
  void openPage();
  main.focus({ preventScroll: true });
});
setInterval(tick, 1000);
void openPage();
void showClockBar();
void showWorlds();
void showWarningCount();
listen(changed, showConnection);
handleActions(() => visit, refresh);
`,
  ],
  [
    "console/pages.css",
    `/* The first page, the preview of a card, dialogs and short messages. */

.counts {
  display: grid;
  grid-template-columns: repeat(4, minmax(0, 1fr));
  gap: 14px;
}

.counts a {
  padding: 14px 18px;
  border: 1px solid var(--line);
  border-radius: var(--round);
  background: var(--panel);
  box-shadow: var(--shadow);
  color: var(--quiet);
  text-decoration: none;
}

.counts a:hover {
  border-color: var(--field);
}

.counts strong {
  display: block;
  color: var(--text);
  font-size: 1.7rem;
  line-height: 1.25;
  font-weight: 660;
  letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums;
}

.steps {
  counter-reset: step;
  list-style: none;
  display: grid;
  gap: 14px;
}

.steps li {
  counter-increment: step;
  position: relative;
  padding-left: 40px;
}

.steps li::before {
  content: counter(step);
  position: absolute;
  left: 0;
  top: 0;
  width: 26px;
  height: 26px;
  display: grid;
  place-items: center;
  border-radius: 50%;
  background: var(--accent-soft);
  color: var(--accent);
  font-size: 0.88rem;
  font-weight: 640;
}

.steps .is-done::before {
  content: "✓" / "";
  background: var(--good-soft);
  color: var(--good);
}

.steps a {
  font-weight: 600;
}

.steps p {
  color: var(--quiet);
}

.done-mark {
  margin-left: 8px;
  color: var(--good);
  font-size: 0.88rem;
}

.card-preview {
  min-height: 208px;
  display: flex;
  flex-direction: column;
  gap: 18px;
  padding: 22px 24px;
  border-radius: 20px;
  color: #fff;
  background:
    radial-gradient(120% 90% at 100% 0%, rgb(255 255 255 / 0.18), transparent 60%),
    linear-gradient(150deg, #463fc0, #25205f);
  box-shadow: 0 14px 34px -14px rgb(37 32 95 / 0.7);
  overflow-wrap: anywhere;
}

.card-preview-top {
  display: flex;
  justify-content: space-between;
  gap: 12px;
  font-weight: 600;
}

.card-preview .tier {
  flex: none;
  max-width: 50%;
  padding: 1px 12px;
  border-radius: 14px;
  border: 1px solid rgb(255 255 255 / 0.4);
  background: rgb(0 0 0 / 0.28);
  font-size: 0.86rem;
}

.card-preview-balance strong {
  font-size: 2.9rem;
  line-height: 1;
  letter-spacing: -0.03em;
  font-variant-numeric: tabular-nums;
}

.card-preview-name {
  margin-top: auto;
  font-weight: 600;
  min-height: 1.5em;
}

dialog {
  width: min(480px, calc(100vw - 32px));
  padding: 24px;
  border: 1px solid var(--line);
  border-radius: 16px;
  background: var(--panel);
  color: var(--text);
  box-shadow: 0 24px 64px rgb(10 11 16 / 0.35);
}

dialog::backdrop {
  background: rgb(10 11 16 / 0.5);
}

dialog h2 {
  margin-bottom: 8px;
}

dialog p {
  color: var(--quiet);
}

dialog .secret code {
  white-space: pre-wrap;
}

dialog .secret {
  margin: 16px 0 0;
  padding: 12px 12px 12px 16px;
  border-radius: 10px;
  background: var(--sunken);
  color: var(--text);
}

dialog form {
  flex-direction: row;
  justify-content: flex-end;
  margin-top: 20px;
}

.toasts {
  position: fixed;
  z-index: 30;
  right: 20px;
  bottom: 20px;
  display: grid;
  gap: 8px;
  justify-items: end;
  pointer-events: none;
}

.toast {
  max-width: min(420px, calc(100vw - 40px));
  padding: 11px 16px;
  border-radius: 10px;
  background: light-dark(#1b1e28, #eceef5);
  color: light-dark(#ffffff, #14161d);
  box-shadow: 0 8px 28px rgb(10 11 16 / 0.28);
  overflow-wrap: anywhere;
}

.toast.error {
  background: light-dark(#8f1524, #ffd3d8);
  color: light-dark(#ffffff, #3a070e);
}

@media (max-width: 820px) {
  .counts {
    grid-template-columns: repeat(2, minmax(0, 1fr));
  }
}

@media (prefers-reduced-motion: no-preference) {
  .toast {
    animation: arrive 0.18s ease-out;
  }
  @keyframes arrive {
    from {
      opacity: 0;
      transform: translateY(8px);
    }
  }
}
`,
  ],
  [
    "console/panels.css",
    `/* Panels, facts, lists, badges of states, empty states. */

.panel {
  display: flex;
  flex-direction: column;
  gap: 16px;
  padding: 20px;
  border: 1px solid var(--line);
  border-radius: var(--round);
  background: var(--panel);
  box-shadow: var(--shadow);
  min-width: 0;
}

.panel > header {
  display: flex;
  align-items: start;
  justify-content: space-between;
  gap: 10px 20px;
}

.panel > header:has(.actions) {
  flex-wrap: wrap;
}

.panel > header:has(.actions) > div:first-child {
  flex: 1 1 260px;
}

.panel > header > button,
.panel > header > .pill,
.panel > header > time {
  flex: none;
}

.panel > header > time {
  color: var(--quiet);
}

.panel > header > div:first-child {
  min-width: 0;
  display: grid;
  gap: 3px;
}

.address {
  overflow-wrap: anywhere;
}

.columns {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr));
  gap: 20px;
  align-items: start;
}

.columns.narrow {
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 220px), 1fr));
}

.stack {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 20px;
}

.cards {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 14px;
}

.facts {
  display: grid;
}

.facts > div {
  display: grid;
  grid-template-columns: minmax(110px, min(34%, 200px)) minmax(0, 1fr);
  gap: 16px;
  align-items: center;
  min-height: 42px;
  padding: 4px 0;
}

.facts > div + div {
  border-top: 1px solid var(--line);
}

.facts dt {
  color: var(--quiet);
}

.facts dd {
  overflow-wrap: anywhere;
}

.facts .line {
  display: block;
}

.choice,
.copyable {
  display: flex;
  align-items: center;
  justify-content: space-between;
  gap: 10px;
}

.copyable code {
  overflow-wrap: anywhere;
}

header .copyable {
  justify-content: start;
  color: var(--quiet);
}

.rows li {
  display: flex;
  align-items: center;
  justify-content: space-between;
  gap: 16px;
  padding: 10px 0;
}

.rows li + li {
  border-top: 1px solid var(--line);
}

.rows strong,
.rows small {
  display: block;
}

.rows .copyable {
  justify-content: start;
  margin-top: 4px;
}

.rows button {
  flex: none;
}

.plain li {
  padding: 2px 0;
  overflow-wrap: anywhere;
}

.chips {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
}

.chips li {
  padding: 2px 10px;
  border-radius: 99px;
  background: var(--sunken);
  border: 1px solid var(--line);
  font-size: 0.86rem;
  overflow-wrap: anywhere;
}

.pill {
  display: inline-block;
  padding: 1px 10px;
  border-radius: 99px;
  font-size: 0.84rem;
  font-weight: 600;
  text-align: center;
}

.pill.pending {
  background: var(--wait-soft);
  color: var(--wait);
}
.pill.delivered {
  background: var(--good-soft);
  color: var(--good);
}
.pill.failed {
  background: var(--bad-soft);
  color: var(--bad);
}
.pill.quiet {
  background: var(--sunken);
  color: var(--quiet);
}

td .pill {
  margin-left: 8px;
}

.empty {
  display: flex;
  flex-wrap: wrap;
  justify-content: center;
  gap: 10px;
  padding: 44px 20px;
  border: 1.5px dashed var(--line);
  border-radius: var(--round);
  color: var(--quiet);
  text-align: center;
}

.empty p {
  flex-basis: 100%;
  text-wrap: balance;
}

.empty .what {
  color: var(--text);
  font-size: 1.1rem;
  font-weight: 620;
}

.empty .button {
  margin-top: 8px;
}

.panel .empty {
  padding: 26px 16px;
}

.notice {
  padding: 14px 18px;
  border-radius: var(--round);
  background: var(--wait-soft);
  color: var(--wait);
}

@media (max-width: 820px) {
  .panel {
    padding: 16px;
  }
  .facts > div {
    grid-template-columns: minmax(0, 1fr);
    gap: 2px;
    padding: 8px 0;
  }
}
`,
  ],
  [
    "console/parts.js",
    `/** The parts of several pages: headings, empty states, fields, buttons, tables, pages of a list. */
import { h } from "./dom.js";
import { numberText } from "./format.js";

export const button = (label, action, { id, kind = "", ...attributes } = {}) =>
  h("button", { type: "button", class: kind, "data-action": action, "data-id": id, ...attributes }, label);

/** The title of a page, its purpose, and the actions for the whole page. */
export const heading = (title, purpose, ...actions) =>
  h(
    "header",
    { class: "heading" },
    h("div", {}, h("h1", {}, title), h("p", {}, purpose)),
    actions.length > 0 && h("div", { class: "actions" }, actions),
  );

export const panel = (title, ...content) =>
  h("section", { class: "panel", "data-key": \`panel-\${title}\` }, title && h("h2", {}, title), content);

/** Shown in place of an empty list: what to do next. */
export const empty = (what, next, ...actions) =>
  h("div", { class: "empty" }, h("p", { class: "what" }, what), h("p", {}, next), actions);

/** A labelled input with a hint and a place for its error message. */
export function field(label, name, { hint, options, chosen, ...attributes } = {}) {
  const id = attributes.id ?? \`field-\${name}\`;
  const input = options
    ? h(
        "select",
        { ...attributes, id, name },
        options.map((option) => optionOf(option, chosen)),
      )
    : h("input", { type: "text", autocomplete: "off", ...attributes, id, name });
  return h(
    "p",
    { class: "field", "data-key": \`field-\${name}\` },
    h("label", { for: id }, label),
    input,
    hint && h("small", {}, hint),
    h("span", { class: "form-error", "data-error": name, "data-keep": true }),
  );
}

const optionOf = (option, chosen) => {
  const [value, label] = Array.isArray(option) ? option : [option, option];
  return h("option", { value, selected: value === chosen, "data-key": \`option-\${value}\` }, label);
};

export const checkbox = (label, name, attributes = {}) =>
  h("label", { class: "check" }, h("input", { type: "checkbox", name, ...attributes }), label);

/** @param submit the name of the function in \`submits\` of the page. */
export const form = (submit, submitLabel, content, attributes = {}) =>
  h(
    "form",
    { "data-submit": submit, "data-key": \`form-\${submit}\`, novalidate: true, ...attributes },
    content,
    h("p", { class: "form-error", "data-error": "", role: "alert", "data-keep": true }),
    h("p", { class: "submit" }, h("button", { class: "primary" }, submitLabel)),
  );

/** Something to be copied: monospace text, and a button that does it. */
export const copyable = (text, label) =>
  h(
    "span",
    { class: "copyable" },
    h("code", {}, text),
    h(
      "button",
      { type: "button", "data-action": "copy", "aria-label": \`Copy \${label}\`, class: "small" },
      "Copy",
    ),
  );

export const facts = (...rows) =>
  h(
    "dl",
    { class: "facts" },
    rows
      .filter(Boolean)
      .map(([name, value]) =>
        h("div", { "data-key": \`fact-\${name}\` }, h("dt", {}, name), h("dd", {}, value)),
      ),
  );

export const pageSize = 20;

/** The position in a long list, with the buttons to the pages before and after. */
export function pager({ total, offset, noun }) {
  if (total <= pageSize) return null;
  const last = Math.min(offset + pageSize, total);
  return h(
    "nav",
    { class: "pager", "aria-label": \`Pages of \${noun}\` },
    button("Newer", "page", { id: String(Math.max(0, offset - pageSize)), disabled: offset === 0 }),
    h("span", {}, \`\${numberText(offset + 1)}–\${numberText(last)} of \${numberText(total)}\`),
    button("Older", "page", { id: String(offset + pageSize), disabled: last >= total }),
  );
}

/** A table that scrolls sideways on a phone. @param columns \`[title, class]\`; @param rows \`[key, ...cells]\`. */
export const table = (caption, columns, rows) =>
  h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([key, ...cells]) =>
          h(
            "tr",
            { "data-key": key },
            cells.map((cell, index) => h("td", { class: columns[index]?.[1] }, cell)),
          ),
        ),
      ),
    ),
  );
`,
  ],
  [
    "console/service-clock.js",
    `/** The service's time on this page: read when it changes, and counted on in between. */
import { get } from "./api.js";
import { h } from "./dom.js";
import { dateTimeText, durationText, fullTimeText, timeText } from "./format.js";

let known = { nowMs: Date.now(), readMs: performance.now(), factor: 1 };

export async function readClock() {
  const clock = await get("clock");
  const factor = { manual: 0, system: 1 }[clock.mode] ?? clock.factor ?? 1;
  known = { nowMs: Date.parse(clock.now), readMs: performance.now(), factor };
  return clock;
}

export const serviceNowMs = () => known.nowMs + (performance.now() - known.readMs) * known.factor;

/** "in 4 min 12 s", on the service's clock. */
export const untilText = (iso) => {
  const ms = Date.parse(iso) - serviceNowMs();
  return ms <= 0 ? "now" : \`in \${durationText(ms)}\`;
};

/** A time on the page: without the date on the service's current day, and complete in the title. */
export const timeOf = (iso) =>
  h("time", { datetime: iso, title: fullTimeText(iso) }, timeText(iso, serviceNowMs()));

/** Updates the current time (\`data-now\`), the time until a moment (\`data-until\`), and whether times show their date. */
export function tick() {
  const nowMs = serviceNowMs();
  for (const element of document.querySelectorAll("[data-now]")) setText(element, dateTimeText(nowMs));
  for (const element of document.querySelectorAll("[data-until]")) {
    setText(element, untilText(element.dataset.until));
  }
  for (const element of document.querySelectorAll("time")) {
    setText(element, timeText(element.dateTime, nowMs));
  }
}

/** Leaves an element alone that has the text already: a selection in it would be lost. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
`,
  ],
  [
    "console/start.js",
    `/** The first page: the settings of a website, as .env too, and what to try first. */
import { get, getWorld, post } from "./api.js";
import { confirmAction, copyText, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { numberText } from "./format.js";
import { button, copyable, facts, field, heading, panel } from "./parts.js";

export const startPage = {
  title: "Start",
  concerns: ["card", "operation", "endpoint", "delivery"],

  async load(state) {
    const [world, cards, endpoints, pending, delivered, failed] = await Promise.all([
      getWorld(),
      get("cards", { limit: 100 }),
      get("webhooks/endpoints"),
      ...["pending", "delivered", "failed"].map((state) => get("webhooks/deliveries", { state, limit: 1 })),
    ]);
    const count = ({ total }) => total;
    const endpoint = endpoints.items.find(({ id }) => id === state.endpointId) ?? endpoints.items[0];
    // Read before the click: some browsers allow writing to the clipboard only while they handle the click.
    const { secret } = endpoint
      ? await get(\`webhooks/endpoints/\${encodeURIComponent(endpoint.id)}/secret\`)
      : {};
    state.environment = environmentOf(world, secret);
    return {
      world,
      cards: cards.total,
      hasBalance: cards.items.some(({ loyaltyBalance }) => loyaltyBalance !== 0),
      endpoints: endpoints.items,
      deliveries: { pending: count(pending), delivered: count(delivered), failed: count(failed) },
    };
  },

  show({ world, cards, hasBalance, endpoints, deliveries }) {
    const { pending, delivered, failed } = deliveries;
    return [
      heading(
        "Start",
        "A mock of the whole loyalty card service, on this machine. Nothing here is real: try everything.",
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
              ? "The signing secret is in it when there is a webhook endpoint. "
              : "With the signing secret of the webhook endpoint. ",
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
              "The address of your receiver, on this machine or with HTTPS.",
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
              "Every delivery attempt with its response, and when the next one is due.",
              "#/deliveries",
              delivered > 0,
            ),
            step("Move the clock", "Six hours of retries in a moment.", "#/clock", false),
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
      showToast("The service is as it was at the start.");
    },
  },
};

const count = (number, noun, address) =>
  h("a", { href: address, "data-key": noun }, h("strong", {}, numberText(number)), \` \${noun}\`);

const step = (title, purpose, address, isDone) =>
  h(
    "li",
    { class: isDone ? "is-done" : undefined },
    h("a", { href: address }, title),
    isDone && h("span", { class: "done-mark" }, "Done"),
    h("p", {}, purpose),
  );

/** The names that the examples and \`exec\` use. */
function environmentOf({ baseUrl, apiKeys, templateId }, secret) {
  const values = {
    LOYALTY_URL: baseUrl,
    LOYALTY_API_KEY: apiKeys.website,
    LOYALTY_TEMPLATE_ID: templateId,
    ...(secret !== undefined && { LOYALTY_SIGNING_SECRET: secret }),
  };
  return Object.entries(values)
    .map(([name, value]) => \`\${name}=\${quoted(value)}\\n\`)
    .join("");
}

/** A seeded secret may be any text; \`#\`, spaces and \`$\` have a meaning in .env files. */
function quoted(value) {
  if (/^[\\w.:/-]+$/.test(value)) return value;
  const mark = ["'", '"', "\`"].find((candidate) => !value.includes(candidate)) ?? "'";
  return mark + value + mark;
}
`,
  ],
  [
    "console/tables.css",
    `/* Tables and the delivery log. */

main > div > .scroll {
  border: 1px solid var(--line);
  border-radius: var(--round);
  box-shadow: var(--shadow);
}

main > div > .scroll th:first-child,
main > div > .scroll td:first-child {
  padding-left: 20px;
}

main > div > .scroll th:last-child,
main > div > .scroll td:last-child {
  padding-right: 20px;
}

table {
  width: 100%;
  border-collapse: collapse;
}

th {
  padding: 8px 12px;
  color: var(--quiet);
  font-size: 0.84rem;
  font-weight: 560;
  text-align: left;
  white-space: nowrap;
}

td {
  height: 46px;
  padding: 6px 12px;
  border-top: 1px solid var(--line);
  font-variant-numeric: tabular-nums;
  overflow-wrap: break-word;
}

th:first-child,
td:first-child {
  padding-left: 4px;
}

th:last-child,
td:last-child {
  padding-right: 4px;
}

th.number,
td.number,
td.last {
  text-align: right;
  white-space: nowrap;
}

td time,
td:has(.pill) {
  white-space: nowrap;
}

.pager {
  display: flex;
  align-items: center;
  justify-content: center;
  gap: 16px;
  font-variant-numeric: tabular-nums;
}

.log {
  border: 1px solid var(--line);
  border-radius: var(--round);
  background: var(--panel);
  box-shadow: var(--shadow);
  overflow: hidden;
}

.entry + .entry {
  border-top: 1px solid var(--line);
}

.entry summary {
  display: grid;
  grid-template-columns: 92px minmax(150px, 0.7fr) minmax(120px, 1.6fr) 80px 104px 158px;
  gap: 14px;
  align-items: center;
  min-height: 52px;
  padding: 8px 18px;
  cursor: pointer;
  list-style: none;
  font-variant-numeric: tabular-nums;
}

.entry summary::-webkit-details-marker {
  display: none;
}

.entry summary:hover {
  background: var(--sunken);
}

.entry summary:focus-visible {
  outline-offset: -3px;
}

.entry[open] summary {
  background: var(--sunken);
}

.entry-event {
  font-weight: 600;
}

.entry-url,
.entry-response,
.entry-next {
  color: var(--quiet);
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.entry-next {
  text-align: right;
}

.marks {
  display: flex;
  gap: 4px;
}

.marks i {
  width: 9px;
  height: 9px;
  border-radius: 50%;
  border: 1.5px solid var(--field);
}

.marks i.failed {
  border-color: var(--bad);
  background: var(--bad);
}

.marks i.delivered {
  border-color: var(--good);
  background: var(--good);
}

.entry-inside {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 14px;
  padding: 14px 18px 20px;
}

pre.scroll {
  --ground: var(--sunken);
  margin: 0;
  padding: 14px 16px;
  border: 1px solid var(--line);
  border-radius: 9px;
}

.big-now {
  font-size: clamp(1.5rem, 5vw, 2.4rem);
  letter-spacing: -0.02em;
}

@media (max-width: 820px) {
  td .strong {
    white-space: nowrap;
  }
}

@media (max-width: 1100px) {
  .entry summary {
    grid-template-columns: 92px minmax(0, 1fr) fit-content(45%);
    grid-template-areas: "state event event" "url url response" "marks next next";
    gap: 6px 14px;
    padding: 12px 18px;
  }
  .entry-url {
    grid-area: url;
  }
  .marks {
    grid-area: marks;
  }
  .entry-response {
    grid-area: response;
    text-align: right;
  }
  .entry-next {
    grid-area: next;
  }
}
`,
  ],
  [
    "console/templates.js",
    `/** Templates: the fields of a card, and the balance at which each level starts. */
import { get, post } from "./api.js";
import { confirmAction, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { numberText, plural } from "./format.js";
import { button, checkbox, copyable, empty, field, form, heading, panel } from "./parts.js";

const fieldTypes = [
  ["text", "Text"],
  ["name", "Name"],
  ["number", "Number"],
];

export const templatesPage = {
  title: "Templates",
  concerns: ["template"],
  load: () => get("templates"),

  show({ items }, state) {
    return [
      heading(
        "Templates",
        "What cards are issued from: their fields and their levels.",
        button("Create a template", "open-form", {
          kind: "primary",
          "aria-expanded": String(state.isOpen === true),
        }),
      ),
      state.isOpen && createForm(),
      items.length === 0
        ? empty("No templates yet", "Create one to issue cards from it.")
        : h("ul", { class: "cards", "data-key": "list" }, items.map(templateCard)),
    ];
  },

  actions: {
    "open-form"(_id, { state }) {
      state.isOpen = state.isOpen !== true;
    },
    "add-field": (_id, { element }) => appendRow(element, fieldRow()),
    "add-tier": (_id, { element }) => appendRow(element, tierRow()),
    "remove-row": (_id, { element }) => element.closest(".form-row").remove(),
    async archive(id) {
      const isSure = await confirmAction(
        "Archive this template?",
        "Its cards stay. From now on, issuing from it gets 404.",
        "Archive it",
      );
      if (!isSure) return;
      await post(\`templates/\${encodeURIComponent(id)}/archive\`);
      showToast("The template was archived.");
    },
  },

  submits: {
    async create(values, { form: filled, state }) {
      const id = values.get("id");
      await post("templates", {
        name: values.get("name"),
        ...(id !== "" && { id }),
        fields: rowsOf(filled, "field").map((row) => {
          const label = row("label").value;
          return {
            key: row("key").value,
            type: row("type").value,
            required: row("required").checked,
            ...(label !== "" && { label }),
          };
        }),
        tiers: rowsOf(filled, "tier").map((row) => ({
          name: row("name").value,
          from: row("from").value === "" ? null : Number(row("from").value),
        })),
      });
      state.isOpen = false;
      showToast("The template was created.");
    },
  },
};

const createForm = () =>
  panel(
    "Create a template",
    form("create", "Create the template", [
      h(
        "div",
        { class: "grid" },
        field("Name", "name", { hint: "Shown on the card." }),
        field("Id (optional)", "id", { hint: "Generated when left empty." }),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Fields"),
        h(
          "div",
          { class: "form-rows", "data-keep": true },
          fieldRow({ key: "name", type: "name", label: "Name" }),
        ),
        button("Add a field", "add-field", { kind: "small" }),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Levels"),
        h("div", { class: "form-rows", "data-keep": true }, tierRow({ name: "Silver", from: 100 })),
        button("Add a level", "add-tier", { kind: "small" }),
      ),
    ]),
  );

let rows = 0;

function appendRow(pressed, row) {
  pressed.previousElementSibling.append(row);
  row.querySelector("input").focus();
}

/** A number makes the names of inputs in rows unique; \`data-part\` says which part of the row an input is. */
function fieldRow({ key, type = "text", label } = {}) {
  rows += 1;
  const row = rows;
  return h(
    "div",
    { class: "form-row", "data-row": "field" },
    field("Key", \`key-\${row}\`, { value: key, "data-part": "key" }),
    field("Label (optional)", \`label-\${row}\`, { value: label, "data-part": "label" }),
    field("Type", \`type-\${row}\`, { options: fieldTypes, chosen: type, "data-part": "type" }),
    checkbox("Required", \`required-\${row}\`, { "data-part": "required" }),
    button("Remove", "remove-row", { kind: "small", "aria-label": "Remove this field" }),
  );
}

function tierRow({ name, from } = {}) {
  rows += 1;
  const row = rows;
  return h(
    "div",
    { class: "form-row", "data-row": "tier" },
    field("Level", \`tier-\${row}\`, { value: name, "data-part": "name" }),
    field("From balance", \`from-\${row}\`, { value: from, type: "number", step: "any", "data-part": "from" }),
    button("Remove", "remove-row", { kind: "small", "aria-label": "Remove this level" }),
  );
}

const rowsOf = (filled, kind) =>
  [...filled.querySelectorAll(\`[data-row="\${kind}"]\`)].map(
    (row) => (part) => row.querySelector(\`[data-part="\${part}"]\`),
  );

const templateCard = ({ id, name, fields, tiers, isArchived }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h(
      "header",
      {},
      h("div", {}, h("h2", {}, name), copyable(id, "the template's id")),
      isArchived
        ? h("span", { class: "pill quiet" }, "Archived")
        : button("Archive", "archive", { id, kind: "small", "aria-label": \`Archive \${name}\` }),
    ),
    h(
      "div",
      { class: "columns narrow" },
      h(
        "div",
        {},
        h("h3", {}, plural(fields.length, "field")),
        h(
          "ul",
          { class: "plain" },
          fields.map(({ key, type, required, label }) =>
            h(
              "li",
              {},
              h("code", {}, key),
              \` \${label && label !== key ? \`“\${label}”, \` : ""}\${type}\${required ? ", required" : ""}\`,
            ),
          ),
        ),
      ),
      h(
        "div",
        {},
        h("h3", {}, plural(tiers.length, "level")),
        h(
          "ul",
          { class: "plain" },
          tiers.map((tier) => h("li", {}, \`\${tier.name} from \${numberText(tier.from)}\`)),
        ),
      ),
    ),
  );
`,
  ],
  [
    "console/warnings.js",
    `/** Warnings: what the service accepted although it is probably a mistake of the website. */
import { get } from "./api.js";
import { h } from "./dom.js";
import { empty, heading, pager, pageSize } from "./parts.js";
import { timeOf } from "./service-clock.js";

const titles = { "replay-with-other-content": "Idempotency key repeated with other content" };

export const warningsPage = {
  title: "Warnings",
  concerns: ["warning"],
  load: ({ offset }) => get("warnings", { offset, limit: pageSize }),

  show({ items, total }, { offset }) {
    return [
      heading("Warnings", "What the service accepts although it is probably a mistake of your website."),
      total === 0
        ? empty(
            "No warnings",
            "A warning appears when a request repeats an Idempotency-Key with another template or body: usually two people share a key, and the second one gets the first one’s card.",
          )
        : h("ul", { class: "cards", "data-key": "list" }, items.map(warningPanel)),
      pager({ total, offset, noun: "warnings" }),
    ];
  },
};

/** Shows the number of warnings in the navigation. */
export async function showWarningCount() {
  const { total } = await get("warnings", { limit: 1 }).catch(() => ({ total: 0 })); // the page shows the error
  const badge = document.getElementById("warning-count");
  badge.textContent = String(total);
  badge.hidden = total === 0;
}

const warningPanel = ({ id, type, at, message, cardId }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h("header", {}, h("h2", {}, titles[type] ?? type), timeOf(at)),
    h("p", {}, message),
    cardId &&
      h(
        "p",
        { class: "actions" },
        h("a", { class: "button", href: \`#/card/\${encodeURIComponent(cardId)}\` }, "Open the card"),
      ),
  );
`,
  ],
  [
    "console/webhooks.js",
    `/** Webhook endpoints: their addresses, their events and their signing secrets. */
import { get, post, remove, update } from "./api.js";
import { confirmAction, showSecret, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { button, checkbox, copyable, empty, field, form, heading, panel } from "./parts.js";

const secretHint =
  "This signing secret is shown once. Put it into the settings of your receiver now; “New secret” replaces it.";

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
        "The addresses that events are sent to, signed, and retried until the receiver responds with 2xx.",
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
      await post(\`\${pathOf(id)}/test\`);
      showToast("A ping was sent; the delivery log shows the response.");
    },
    async "new-secret"(id) {
      const isSure = await confirmAction(
        "Create a new secret?",
        "The old one is invalid at once, also for deliveries that are still being retried.",
        "Create a new secret",
      );
      if (!isSure) return;
      const { secret } = await post(\`\${pathOf(id)}/new-secret\`);
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
      await remove(pathOf(id));
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
      await update(pathOf(state.edited), { url: values.get("url"), events: values.getAll("events") });
      state.edited = undefined;
      showToast("The endpoint was changed.");
    },
  },
};

/** Lets a long address continue on the next line after a slash or a dot. */
const breakable = (url) => url.split(/(?<=[/.])/).map((part) => [part, h("wbr")]);

const pathOf = (id) => \`webhooks/endpoints/\${encodeURIComponent(id)}\`;

/** @param endpoint whose values the form starts with; none in a new one. */
const endpointForm = (submit, label, eventTypes, endpoint) =>
  form(submit, label, [
    field("Address", "url", {
      type: "url",
      id: \`url-\${endpoint?.id ?? "new"}\`,
      value: endpoint?.url,
      placeholder: "http://localhost:3000/webhooks",
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
        button("Send test", "test", { id, "aria-label": \`Send test to \${url}\` }),
        h("a", { class: "button", href: \`#/deliveries/\${encodeURIComponent(id)}\` }, "Deliveries"),
        button("New secret", "new-secret", { id, "aria-label": \`New secret for \${url}\` }),
        button(isEdited ? "Cancel" : "Edit", "edit", {
          id,
          "aria-expanded": String(isEdited),
          "aria-label": isEdited ? \`Cancel the changes of \${url}\` : \`Edit \${url}\`,
        }),
        button("Delete", "delete", { id, kind: "danger", "aria-label": \`Delete \${url}\` }),
      ),
    ),
    isEdited
      ? h("div", { "data-key": "edit" }, endpointForm("update", "Save the changes", eventTypes, endpoint))
      : h(
          "ul",
          { class: "chips", "aria-label": "Chosen events", "data-key": "events" },
          events.map((type) => h("li", {}, type)),
        ),
  );
};
`,
  ],
  [
    "console/worlds.js",
    `/** The choice of worlds, when there are several. */
import { get, worldId } from "./api.js";
import { h, patch } from "./dom.js";

export async function showWorlds() {
  const { items } = await get("worlds").catch(() => ({ items: [] })); // the page shows the error
  if (items.length < 2) return;
  const options = items.map(({ id }) =>
    h("option", { value: id, selected: id === (worldId ?? "default") }, id),
  );
  patch(
    document.getElementById("world"),
    h("label", {}, h("span", {}, "World"), h("select", { "data-world": true }, options)),
  );
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-world]"))
    location.search = \`?world=\${encodeURIComponent(event.target.value)}\`;
});
`,
  ],
  [
    "reference/reference.css",
    `/* What the reference needs around Swagger UI's own style: some air, and colours that everybody can read. */

:root {
  color-scheme: light dark;
  --ground: light-dark(#fafbfc, #1c2022);
  --quiet: light-dark(#4a5060, #c3c8cc);
  --link: light-dark(#1f5fae, #8ab8ff);
  --good: light-dark(#0b6b3f, #5fd39b);
  --bad: light-dark(#b01c2e, #ff9aa5);
  --get: light-dark(#1b62b5, #61a8ff);
  --post: light-dark(#0f7a4c, #2fc98b);
  --put: light-dark(#8f5300, #f0a93c);
}

body {
  margin: 0;
  background: var(--ground);
}

.swagger-ui .wrapper {
  max-width: 1100px;
}

/* There is one server: this one. */
.swagger-ui .servers-title,
.swagger-ui .servers {
  display: none;
}

.swagger-ui .info .title small {
  background: #4a5060;
}

.swagger-ui .info .title small.version-stamp {
  background: #3c6900;
}

.swagger-ui .info a,
.swagger-ui a.link,
.swagger-ui .renderedMarkdown a {
  color: var(--link);
}

.swagger-ui .btn.authorize {
  border-color: var(--good);
  color: var(--good);
}

.swagger-ui .btn.authorize span {
  color: inherit;
}

.swagger-ui .btn.authorize svg {
  fill: currentcolor;
}

.swagger-ui .opblock.opblock-get .opblock-summary-method {
  background: var(--get);
}

.swagger-ui .opblock.opblock-post .opblock-summary-method {
  background: var(--post);
}

.swagger-ui .opblock.opblock-put .opblock-summary-method {
  background: var(--put);
}

.swagger-ui .opblock .opblock-summary-method {
  color: light-dark(#ffffff, #10130f);
  text-shadow: none;
}

html .swagger-ui .btn.btn.cancel {
  background: var(--ground);
  border-color: var(--bad);
  color: var(--bad);
}

.swagger-ui .btn.execute {
  border-color: #1b62b5;
  background: #1b62b5;
  color: #ffffff;
}

.swagger-ui .json-schema-2020-12-expand-deep-button,
.swagger-ui .parameter__in,
.swagger-ui .parameter__type,
.swagger-ui .prop-format,
.swagger-ui .examples-select__section-label,
.swagger-ui .headers td.header-col,
.swagger-ui .response-col_links,
.swagger-ui .response-control-media-type__accept-message {
  color: var(--quiet);
}

.swagger-ui .response-control-media-type__accept-message {
  color: var(--good);
}

/* Swagger UI writes the colours of examples into their elements. */
.swagger-ui .microlight span[style*="211, 99, 99"] {
  /* biome-ignore lint/complexity/noImportantStyles: nothing else wins over an element's own style */
  color: #ff9f9f !important;
}

html.dark-mode .swagger-ui .opblock.opblock.opblock .opblock-section-header {
  background: #2a2f31;
}
`,
  ],
  [
    "reference/start.js",
    `// Starts the interactive reference: this service's own document, with the seeded key and template filled in.

const place = document.getElementById("reference");
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

const openapi = await (await fetch("docs/json")).json();
// The page may have been opened under another name of this machine than the service knows itself by.
openapi.servers = [{ url: new URL("v1", location.href).href }];
openapi.components.parameters.TemplateId.example = place.dataset.templateId;

/** Swagger UI leaves some fields without a name, which screen readers then call "edit" and "combo box". */
const names = {
  "textarea.body-param__text": "Request body",
  ".examples-select-element": "Example",
  "select:not([aria-label])": "Choice",
  "input[type=text]:not([aria-label]):not([id]):not([placeholder])": "Value",
};

function nameFields() {
  for (const [selector, name] of Object.entries(names)) {
    for (const field of place.querySelectorAll(selector)) {
      if (!field.ariaLabel) field.ariaLabel = name;
    }
  }
}
new MutationObserver(nameFields).observe(place, { childList: true, subtree: true });

const reference = SwaggerUIBundle({
  spec: openapi,
  domNode: place,
  validatorUrl: null,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  onComplete() {
    reference.preauthorizeApiKey("websiteKey", place.dataset.apiKey);
    document.documentElement.dataset.ready = "";
  },
});
`,
  ],
]);
