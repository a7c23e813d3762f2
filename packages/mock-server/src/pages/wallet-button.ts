/** Draws the buttons "Add to … Wallet": a drawing of ours, because the vendors' own artwork is theirs. */
import { html, type Markup } from "./html.ts";

/** How people write a vendor: "apple" is "Apple". */
export const walletTitle = (wallet: string): string =>
  `${wallet.slice(0, 1).toUpperCase()}${wallet.slice(1)} Wallet`;

export function walletButton(wallet: string): Markup {
  const title = `Add to ${walletTitle(wallet)}`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 56" width="240" height="56" role="img" aria-label="${title}">
<title>${title}</title>
<rect x=".75" y=".75" width="238.5" height="54.5" rx="13.25" fill="#111318" stroke="#565b66" stroke-width="1.5"/>
<g transform="translate(18 14)">
<rect x="2" width="28" height="13" rx="3.5" fill="#f2b441"/>
<rect x="1" y="5" width="30" height="13" rx="3.5" fill="#4cb28b"/>
<path d="M0 13.5A3.5 3.5 0 0 1 3.5 10h7.2c1 0 1.8.6 2.2 1.5a3.4 3.4 0 0 0 6.2 0c.4-.9 1.2-1.5 2.2-1.5h7.2a3.5 3.5 0 0 1 3.5 3.5v11a3.5 3.5 0 0 1-3.5 3.5h-25A3.5 3.5 0 0 1 0 24.500z" fill="#eceef2"/>
</g>
<g fill="#fff" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif">
<text x="64" y="22" font-size="12" fill="#c9cdd6">Add to</text>
<text x="64" y="42" font-size="19" font-weight="600"${widthLimit(walletTitle(wallet))}>${walletTitle(wallet)}</text>
</g>
</svg>
`;
}

/** A long name is squeezed into the button instead of running out of it. */
const widthLimit = (title: string): Markup =>
  title.length > 15 ? html` textLength="164" lengthAdjust="spacingAndGlyphs"` : html``;
