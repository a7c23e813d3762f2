/** The public page of a card: what its QR code leads to (spec 2.2). */
import type { Wallets } from "../domain/surroundings.ts";
import type { CardView } from "./card-view.ts";
import { html, type Markup } from "./html.ts";
import { qrCode } from "./qr-code.ts";
import { walletTitle } from "./wallet-button.ts";

/** The frame of the pages that customers see. @param up leads from the page's address to the service's. */
export function customerPage(title: string, up: string, content: Markup): Markup {
  return html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${up}assets/icon.svg">
<link rel="stylesheet" href="${up}assets/card.css">
</head>
<body>
${content}
<footer>Issued by a mock service, for trying things out.</footer>
</body>
</html>`;
}

export function cardPage(view: CardView, wallets: Wallets): Markup {
  const { slug, shopName } = view;
  return customerPage(
    `${shopName} card`,
    "../",
    html`<main>
${cardFace(view, html`<div class="code">${qrCode(view.publicUrl, "QR code of this card")}<p>Show this code at the till</p></div>`)}
<nav class="wallets" aria-label="Add the card to your phone">
${walletLink(view, wallets.first, `${slug}/pass.pkpass`)}
${walletLink(view, wallets.second, `${slug}/${encodeURIComponent(wallets.second)}`)}
</nav>
</main>`,
  );
}

/** The card itself. @param below what stands on its lower half. */
export function cardFace(view: CardView, below: Markup): Markup {
  const { shopName, holder, balance, tier, colour } = view;
  return html`<article class="card colour-${colour}">
<header><h1>${shopName}</h1>${tier === null ? html`` : html`<span class="tier">${tier}</span>`}</header>
<div class="balance"><p><strong>${spoken(balance)}</strong> points</p>${progress(view)}</div>
${holder === undefined ? html`` : html`<p class="holder"><span>Member</span> ${holder}</p>`}
${below}
</article>`;
}

function progress({ balance, nextTier }: CardView): Markup {
  if (nextTier === undefined) return html``;
  const { name, missing, from, progressFrom } = nextTier;
  return html`<progress aria-label="On the way to ${name}" value="${balance - progressFrom}" max="${from - progressFrom}"></progress><p class="next">${spoken(missing)} more to ${name}</p>`;
}

function walletLink({ wallets }: CardView, wallet: string, address: string): Markup {
  const title = walletTitle(wallet);
  if (wallets.includes(wallet)) return html`<p class="added">In ${title}</p>`;
  const image = `../assets/add-to-${encodeURIComponent(wallet)}-wallet.svg`;
  return html`<a href="${address}"><img src="${image}" alt="Add to ${title}" width="240" height="56"></a>`;
}

/** As people read numbers: 1,250. */
export const spoken = (number: number): string => number.toLocaleString("en", { maximumFractionDigits: 6 });
