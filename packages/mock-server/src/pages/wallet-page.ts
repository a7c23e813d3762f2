/** Where the link of the second wallet leads: the real one opens the vendor's app, this one says so. */
import { cardFace, customerPage } from "./card-page.ts";
import type { CardView } from "./card-view.ts";
import { html, type Markup } from "./html.ts";
import { walletTitle } from "./wallet-button.ts";

export function walletPage(view: CardView, wallet: string): Markup {
  const title = walletTitle(wallet);
  const isAdded = view.wallets.includes(wallet);
  const said = isAdded
    ? html`<p class="added">In ${title}</p>`
    : html`<form method="post"><p>On a phone the real service opens ${title}. The mock service only records that the card was added.</p><button>Add to ${title}</button></form>`;
  return customerPage(
    `Add to ${title}`,
    "../../",
    html`<main>
${cardFace(view, html``)}
${said}
<p class="back"><a href="../${view.slug}">Back to the card</a></p>
</main>`,
  );
}
