/** Pages with a card: its links, wallet buttons as HTML, and its QR code as SVG. Runs in a browser too. */
import { escapeHtml } from "@loyalty-cards/internal/format";
import { toQrPath } from "@loyalty-cards/internal/qr-code";
import { type CardLinksOptions, cardLinks, getWallets } from "./card-links.ts";
import { configurationError } from "./errors.ts";

export { type CardLinks, cardLinks } from "./card-links.ts";

/** Options of {@link walletButtonsHtml}. */
interface WalletButtonsOptions extends CardLinksOptions {
  /** Alternative texts, which screen readers speak, in the language of your page. Default: "Add to Apple Wallet" and "Add to Google Wallet". */
  labels?: { first?: string | undefined; second?: string | undefined } | undefined;
  /** Height of the images in CSS pixels. Default 48. */
  heightPx?: number | undefined;
}

/** Options of {@link qrCodeSvg}. */
interface QrCodeOptions {
  /** The accessible name of the picture. Default: "QR code of the loyalty card". */
  label?: string | undefined;
}

/**
 * Returns both wallet buttons as HTML: two links with the button images of the service
 * ([spec 2.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-2)). All values are escaped, so the string is safe to insert into a page.
 * @param card a card, or its `publicUrl`.
 * @param options texts, height, and what `cardLinks` takes.
 * @throws {IssuingError} `configuration` when an address is not http or https, or an option is invalid.
 * @example
 * ```ts
 * import { walletButtonsHtml } from "@loyalty-cards/issuing-client/links";
 *
 * const html = walletButtonsHtml("https://cards.example.com/cards/8sT2kq", {
 *   labels: { first: "Dodaj do Apple Wallet", second: "Dodaj do Google Wallet" },
 * });
 * ```
 */
export function walletButtonsHtml(
  card: { publicUrl: string } | string,
  options: WalletButtonsOptions = {},
): string {
  const { labels, heightPx = 48 } = options;
  if (typeof heightPx !== "number" || !(heightPx > 0))
    throw configurationError(`heightPx must be a number above 0, not ${String(heightPx)}.`);
  const links = cardLinks(card, options);
  const wallets = getWallets(options);
  const toButton = (href: string, image: string, label: string) =>
    `<a href="${escapeHtml(href)}"><img src="${escapeHtml(image)}" alt="${escapeHtml(label)}" height="${heightPx}"></a>`;
  return [
    toButton(links.addToFirstWallet, links.firstWalletButton, labels?.first ?? toLabel(wallets.first)),
    toButton(links.addToSecondWallet, links.secondWalletButton, labels?.second ?? toLabel(wallets.second)),
  ].join("\n");
}

/** Returns "Add to Apple Wallet" for "apple". */
const toLabel = (wallet: string): string =>
  `Add to ${wallet.slice(0, 1).toUpperCase()}${wallet.slice(1)} Wallet`;

/**
 * Returns the QR code of a card as SVG: the address of its page, dark on white in light and dark pages, with the margin that scanners
 * need. It has no size of its own: set the width in CSS, at least 25 mm on paper or 160 pixels on a screen.
 * @param card a card, or its `publicUrl`.
 * @param options the accessible name.
 * @throws {IssuingError} `configuration` when the address is not http or https, or too long for a QR code (about 2 300 bytes).
 * @example
 * ```ts
 * import { qrCodeSvg } from "@loyalty-cards/issuing-client/links";
 *
 * const svg = qrCodeSvg("https://cards.example.com/cards/8sT2kq");
 * ```
 */
export function qrCodeSvg(card: { publicUrl: string } | string, options: QrCodeOptions = {}): string {
  const { label = "QR code of the loyalty card" } = options;
  const { page } = cardLinks(card);
  if (page.length > maxQrBytes)
    throw configurationError(`publicUrl is too long for a QR code: at most ${maxQrBytes} bytes.`);
  const { size, path } = toQrPath(page);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="${escapeHtml(label)}"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`;
}

/** The capacity of the largest QR code, version 40, with error correction M. */
const maxQrBytes = 2331;
