/**
 * The pages that customers see: the card behind its QR code (spec 2.2), the page of each wallet's
 * link, and "no card here". They contain no contact data.
 */
import { formatNumber } from "@loyalty-cards/internal/format";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { toQrPath } from "@loyalty-cards/internal/qr-code";
import { html } from "hono/html";
import { getHolderName, getTierPoints, toCard } from "../domain/cards.ts";
import { type Domain, toWalletTitle, type Wallets } from "../domain/context.ts";
import type { StoredCard } from "../domain/state.ts";
import { getNextTier, getTemplate } from "../domain/templates.ts";
import { type Markup, page } from "./html.ts";

/** What the pages show of a card. */
interface CardView {
  slug: string;
  publicUrl: string;
  shopName: string;
  color: string | undefined;
  holder: string | undefined;
  balance: number;
  tier: string | null;
  nextTier: ReturnType<typeof getNextTier>;
  /** The wallets that the card was added to. */
  wallets: readonly string[];
}

export function toCardView(domain: Domain, card: StoredCard): CardView {
  const template = getTemplate(domain, card);
  return {
    slug: card.slug,
    publicUrl: toCard(domain, card).publicUrl,
    shopName: template.name,
    color: template.color,
    holder: getHolderName(domain, card),
    balance: card.balance,
    tier: card.tier,
    nextTier: getNextTier(template, getTierPoints(card)),
    wallets: card.wallets,
  };
}

/**
 * The public page of a card.
 * @param userAgent a phone gets the button of its own wallet, others get both.
 */
export function cardPage(view: CardView, { first, second }: Wallets, userAgent: string): Markup {
  const { slug } = view;
  const leaves = new Map([
    [first, "pass.pkpass"],
    [second, encodeURIComponent(second)],
  ]);
  if (/Android/.test(userAgent)) leaves.delete(first);
  if (/iPhone|iPad|iPod/.test(userAgent)) leaves.delete(second);
  const links = Array.from(leaves, ([wallet, leaf]) => walletLink(view, wallet, `${slug}/${leaf}`));
  const canAdd = [...leaves.keys()].some((wallet) => !view.wallets.includes(wallet));
  const isLocal = isLoopback(new URL(view.publicUrl).hostname);
  return customerPage({
    title: `${view.shopName} card`,
    up: "../",
    styles: cardStyles("../", view),
    content: html`<main class="wide">
${cardWithCode(view)}
<section class="note phone" data-live="wallets">
${
  canAdd
    ? html`<h2>Keep this card on your phone</h2>
<p>${isLocal ? "Choose a wallet." : "Scan the code with the camera of your phone. Open this page there, and tap Add."}</p>`
    : html`<h2>This card is on your phone</h2>`
}
<nav class="wallets" aria-label="The card on your phone">
${links}
</nav>
</section>
</main>`,
    note: isLocal ? phoneNote : "",
  });
}

const phoneNote = html`Only this machine can open the address in the code. For a phone in your network, start <code>npx @loyalty-cards/mock-server --host 192.168.0.7</code>, with the address of this machine there.`;

/**
 * The page of a wallet's link, which stands for that wallet: the card with its code, and a button
 * that adds it.
 * @param position decides which wallet's look the panel has.
 */
export function walletPage(view: CardView, wallet: string, position: keyof Wallets): Markup {
  const title = toWalletTitle(wallet);
  const isAdded = view.wallets.includes(wallet);
  const place = isAdded ? "is in" : "will be in";
  return customerPage({
    title: isAdded ? `In ${title}` : `Add to ${title}`,
    up: "../../",
    styles: cardStyles("../../", view),
    content: html`<main class="wide">
${cardWithCode(view)}
<section class="note wallet ${position}">
<h2>${title}</h2>
<p>This card ${place} ${title} on your phone, with your points and the code for the counter.</p>
<div class="actions">
${isAdded && html`<p class="added">Added</p>`}
<a class="back" href="../${view.slug}">${isAdded ? "Done" : "Cancel"}</a>
${!isAdded && html`<form method="post"><button aria-label="Add to ${title}">Add</button></form>`}
</div>
</section>
</main>`,
    note: html`On a phone, this link opens ${title}. Here the button, the <a href="../../console">console</a> or <code>service.cards.addToWallet(id, "${wallet}")</code> records that the card was added, and endpoints receive <code>card.added</code>.`,
  });
}

/** @param up the relative path from the page to the service, for example `../`. */
export const notFoundPage = (up: string): Markup =>
  customerPage({
    title: "Card not found",
    up,
    styles: "",
    content: html`<main class="lost">
<div class="empty-card" aria-hidden="true"></div>
<h1>There is no card here</h1>
<p>The link may be incomplete, or the shop no longer has this card. Ask at the counter for a new link.</p>
</main>`,
    note: html`After a restart without a data file it has no earlier cards. <a href="${up}console#/cards">Show the cards in the console</a>`,
  });

interface CustomerPage {
  title: string;
  up: string;
  styles: Markup | string;
  content: Markup;
  /** For developers, below everything that customers read. */
  note: Markup | string;
}

const customerPage = ({ title, up, styles, content, note }: CustomerPage): Markup =>
  page({
    title,
    up,
    head: html`<link rel="stylesheet" href="${up}assets/page.css">
${styles}
<script src="${up}assets/card.js" type="module"></script>`,
    content: html`${content}
<footer>From a mock service, for development and tests. ${note}</footer>`,
  });

/** The styles of a card. Its colour is a file: the policy of the pages forbids inline styles. */
const cardStyles = (up: string, { color }: CardView): Markup =>
  html`<link rel="stylesheet" href="${up}assets/card.css">
${color && html`<link rel="stylesheet" href="${up}assets/card-${color.slice(1)}.css">`}`;

/** Groups of four characters, to be read aloud; a copy of the text has no spaces. */
const toGroups = (code: string) =>
  (code.match(/.{1,4}/g) ?? []).map((group) => html`<span>${group}</span>`);

/**
 * The card with its QR code. The console shows the same elements, the landing page of the
 * documentation the whole card.
 */
export function cardWithCode(view: CardView): Markup {
  const { slug, publicUrl, shopName, holder, balance, tier, nextTier } = view;
  const size = balance >= 100_000 ? html` class="long"` : "";
  return html`<article class="card">
<header data-live="tier"><h1 class="shop">${shopName}</h1><span class="tier">${tier ?? "Member"}</span></header>
<div class="balance" data-live="balance" aria-live="polite"><p><strong${size}>${formatNumber(balance)}</strong> points</p>${nextTier && progress(nextTier)}</div>
${holder === undefined ? "" : html`<p class="holder">${holder}</p>`}
<div class="code">${qrCode(publicUrl, "QR code of this card")}<p>${toGroups(slug)}</p></div>
</article>`;
}

const progress = ({
  name,
  missing,
  from,
  progressFrom,
}: NonNullable<CardView["nextTier"]>): Markup =>
  html`<progress aria-label="Progress to ${name}" value="${from - missing - progressFrom}" max="${from - progressFrom}"></progress><p class="next"><span>${formatNumber(progressFrom)}</span> ${formatNumber(missing)} more to ${name} <span>${formatNumber(from)}</span></p>`;

function walletLink({ wallets }: CardView, wallet: string, address: string): Markup {
  const title = toWalletTitle(wallet);
  if (wallets.includes(wallet)) return html`<p class="added">In ${title}</p>`;
  const image = `../assets/add-to-${encodeURIComponent(wallet)}-wallet.svg`;
  return html`<a href="${address}"><img src="${image}" alt="Add to ${title}" width="240" height="56"></a>`;
}

/** The QR code as SVG, dark on light in both colour schemes. */
function qrCode(text: string, label: string): Markup {
  const { size, path } = toQrPath(text);
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="${label}"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${path}"/></svg>`;
}

/**
 * The button "Add to … Wallet". The drawing is our own, because the vendors own their artwork.
 * @param svg has "{title}" in the place of the wallet's name, and a picture for each wallet.
 */
export const walletButton = (svg: string, wallet: string, isFirst: boolean): string =>
  svg
    .replace("{first}", isFirst ? "inline" : "none")
    .replace("{second}", isFirst ? "none" : "inline")
    .replaceAll("{title}", () => String(html`${toWalletTitle(wallet)}`));
