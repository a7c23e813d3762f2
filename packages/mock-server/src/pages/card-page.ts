/** The pages that customers see: the card behind its QR code (spec 2.2), the page of each wallet's link, and "no card here". They contain no contact data. */
import { toQrPath } from "@loyalty-cards/internal/qr-code";
import { html } from "hono/html";
import { getLevelPoints, roundPoints, toCard } from "../domain/cards.ts";
import type { Domain, Wallets } from "../domain/context.ts";
import type { StoredCard, Template } from "../domain/state.ts";
import { type Markup, page } from "./html.ts";

/** What the pages show of a card. */
interface CardView {
  slug: string;
  publicUrl: string;
  shopName: string;
  holder: string | undefined;
  balance: number;
  tier: string | null;
  nextTier: { name: string; missing: number; from: number; progressFrom: number } | undefined;
  /** The wallets that the card was added to. */
  wallets: readonly string[];
}

export function toCardView(domain: Domain, card: StoredCard): CardView {
  const { name, fields, tiers } = domain.state.templates.get(card.templateId) as Template; // templates are archived, never removed
  const nameKey = fields.find(({ type }) => type === "name")?.key;
  const nameOnCard = new Map(Object.entries(card.fieldValues)).get(nameKey ?? "");
  const points = getLevelPoints(card);
  const next = tiers.find(({ from }) => from > points);
  const progressFrom = tiers.findLast(({ from }) => from <= points)?.from ?? Math.min(0, next?.from ?? 0);
  return {
    slug: card.slug,
    publicUrl: toCard(domain, card).publicUrl,
    shopName: name,
    holder: nameOnCard?.toString() ?? domain.state.customers.get(card.customerId)?.name,
    balance: card.balance,
    tier: card.tier,
    nextTier: next && { ...next, missing: roundPoints(next.from - points), progressFrom },
    wallets: card.wallets,
  };
}

/**
 * The public page of a card.
 * @param userAgent a phone gets the button of its own wallet, others get both.
 */
export function cardPage(view: CardView, { first, second }: Wallets, userAgent: string): Markup {
  const { slug } = view;
  const links = [
    /Android/.test(userAgent) ? [] : [walletLink(view, first, `${slug}/pass.pkpass`)],
    /iPhone|iPad|iPod/.test(userAgent)
      ? []
      : [walletLink(view, second, `${slug}/${encodeURIComponent(second)}`)],
  ].flat();
  return customerPage(
    `${view.shopName} card`,
    "../",
    html`<main>
${cardFace(view, html`<div class="code">${qrCode(view.publicUrl, "QR code of this card")}<p>${slug}</p></div>`)}
<nav class="wallets" data-live="wallets" aria-label="Add the card to your phone">
${links}
</nav>
</main>`,
  );
}

/** The page of a wallet's link: what the link of a real card does on a phone, and a button that adds the card here. */
export function walletPage(view: CardView, wallet: string): Markup {
  const title = toTitle(wallet);
  const isAdded = view.wallets.includes(wallet);
  return customerPage(
    isAdded ? `In ${title}` : `Add to ${title}`,
    "../../",
    html`<main class="wallet">
${cardFace(view)}
<section class="note">
<h2>A real card opens ${title} here</h2>
<p>On the customer's phone, this link opens ${title}, which shows the card with its QR code and a button that adds it.</p>
<p>This card is from a mock service and changes no phone. ${isAdded ? "The mock has recorded that it was added." : html`The button records that it was added: webhook endpoints receive <code>card.added</code>.`}</p>
${isAdded ? html`<p class="added">In ${title}</p>` : html`<form method="post"><button>Add to ${title}</button></form>`}
<p class="hint">The <a href="../../console">console</a> has a button, too. In a test: <code>service.cards.${isAdded ? "removeFromWallet" : "addToWallet"}(id, "${wallet}")</code></p>
</section>
<p class="back"><a href="../${view.slug}">Back to the card</a></p>
</main>`,
  );
}

/** @param up the relative path from the page to the service, for example `../`. */
export const notFoundPage = (up: string): Markup =>
  customerPage(
    "Card not found",
    up,
    html`<main class="lost">
<p class="lost-card" aria-hidden="true">404</p>
<h1>There is no card here</h1>
<p>The link may be incomplete, or the mock service was restarted after the card was issued.</p>
</main>`,
  );

const customerPage = (title: string, up: string, content: Markup): Markup =>
  page(
    title,
    up,
    html`<link rel="stylesheet" href="${up}assets/page.css">
<link rel="stylesheet" href="${up}assets/card.css">
<script src="${up}assets/card.js" type="module"></script>`,
    html`${content}
<footer>Issued by a mock service, for development and tests.</footer>`,
  );

/** The console shows the same elements. @param below the lower half of the card. */
function cardFace(view: CardView, below: Markup | string = ""): Markup {
  const { shopName, holder, balance, tier, nextTier } = view;
  const size = balance >= 100_000 ? html` class="long"` : "";
  return html`<article class="card">
<header data-live="tier"><h1 class="shop">${shopName}</h1>${tier === null ? "" : html`<span class="tier">${tier}</span>`}</header>
<div class="balance" data-live="balance" aria-live="polite"><p><strong${size}>${formatPoints(balance)}</strong> points</p>${nextTier && progress(nextTier)}</div>
${holder === undefined ? "" : html`<p class="holder"><span>Member</span> ${holder}</p>`}
${below}
</article>`;
}

const progress = ({ name, missing, from, progressFrom }: NonNullable<CardView["nextTier"]>): Markup =>
  html`<progress aria-label="Progress to ${name}" value="${from - missing - progressFrom}" max="${from - progressFrom}"></progress><p class="next">${formatPoints(missing)} more to ${name}</p>`;

function walletLink({ wallets }: CardView, wallet: string, address: string): Markup {
  const title = toTitle(wallet);
  if (wallets.includes(wallet)) return html`<p class="added">In ${title}</p>`;
  const image = `../assets/add-to-${encodeURIComponent(wallet)}-wallet.svg`;
  return html`<a href="${address}"><img src="${image}" alt="Add to ${title}" width="240" height="56"></a>`;
}

/** For people: 1,250. */
const formatPoints = (points: number): string => points.toLocaleString("en", { maximumFractionDigits: 6 });

/** The QR code as SVG, dark on light in both colour schemes. */
function qrCode(text: string, label: string): Markup {
  const { size, path } = toQrPath(text);
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="${label}"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${path}"/></svg>`;
}

/** "apple" is "Apple Wallet". */
const toTitle = (wallet: string): string => `${wallet.slice(0, 1).toUpperCase()}${wallet.slice(1)} Wallet`;

/** The button "Add to … Wallet" as SVG, with an edge that is visible on dark pages. The drawing is our own, because the vendors own their artwork. */
export function walletButton(wallet: string): string {
  const title = toTitle(wallet);
  return String(html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 56" width="240" height="56" role="img" aria-label="Add to ${title}">
<title>Add to ${title}</title>
<rect x=".75" y=".75" width="238.5" height="54.5" rx="13.25" fill="#111318" stroke="#a2a8b8" stroke-width="1.5"/>
<g transform="translate(18 14)">
<rect x="2" width="28" height="13" rx="3.5" fill="#f2b441"/>
<rect x="1" y="5" width="30" height="13" rx="3.5" fill="#4cb28b"/>
<path d="M0 13.5A3.5 3.5 0 0 1 3.5 10h7.2c1 0 1.8.6 2.2 1.5a3.4 3.4 0 0 0 6.2 0c.4-.9 1.2-1.5 2.2-1.5h7.2a3.5 3.5 0 0 1 3.5 3.5v11a3.5 3.5 0 0 1-3.5 3.5h-25A3.5 3.5 0 0 1 0 24.500z" fill="#eceef2"/>
</g>
<g fill="#fff" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif">
<text x="64" y="22" font-size="12" fill="#c9cdd6">Add to</text>
<text x="64" y="42" font-size="19" font-weight="600">${title}</text>
</g>
</svg>
`);
}
