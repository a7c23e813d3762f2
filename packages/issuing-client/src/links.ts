/** Pages with a card: its links, and its QR code as SVG. Runs in a browser too. */
import { parseUrl } from "@loyalty-cards/internal/hostnames";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { toQrPath } from "@loyalty-cards/internal/qr-code";
import { configurationError, isPromise, unknownOption } from "./errors.ts";

/**
 * The addresses of one card, ready for `href` and `src` ([spec
 * 2.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-2)).
 */
export interface CardLinks {
  /** The card's public page, and the target of its QR code. */
  page: string;
  /** Adds the card to the first wallet: `pass.pkpass` below the page. */
  addToFirstWallet: string;
  /** Adds the card to the second wallet: below the page, named after the wallet's vendor. */
  addToSecondWallet: string;
  firstWalletButton: string;
  secondWalletButton: string;
}

/** Names and addresses of a service that differs from the defaults. */
interface CardLinksOptions {
  /**
   * Address of the service, which has the button images below `/assets` ([spec
   * 2.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-2)). Default: the
   * origin of the card's page, which is wrong when the pages are on another host, or when the
   * service's address has a path.
   */
  baseUrl?: string | URL | undefined;
  /** Names of the wallets in the service's addresses. Default: `apple` and `google`. */
  wallets?: { first?: string | undefined; second?: string | undefined } | undefined;
}

const linkOptionNames = {
  baseUrl: true,
  wallets: true,
} satisfies OptionNames<CardLinksOptions>;

const walletNames = {
  first: true,
  second: true,
} satisfies OptionNames<NonNullable<CardLinksOptions["wallets"]>>;

/**
 * Returns the addresses of a card's page, of both wallets and of both wallet buttons ([spec
 * 2.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-2)). It needs no API key
 * and no request; import it from `@loyalty-cards/issuing-client/links` in a browser. On a server
 * use `loyalty.cardLinks(card)`, which knows the service's address.
 * @param card a card, or its `publicUrl`.
 * @param options names and address of a service that differs from the defaults.
 * @throws {IssuingError} `configuration` when an address is not http or https.
 * @example
 * ```ts
 * import { cardLinks } from "@loyalty-cards/issuing-client/links";
 *
 * const { page, addToFirstWallet, firstWalletButton } = cardLinks("https://cards.example.com/cards/8sT2kq");
 * ```
 */
export function cardLinks(
  card: { publicUrl: string } | string,
  options: CardLinksOptions = {},
): CardLinks {
  if (isPromise(card))
    throw configurationError(
      "cardLinks got a promise instead of a card: await it, as in cardLinks(await loyalty.issueCard(…)).",
    );
  if (card === undefined || card === null)
    throw configurationError(
      `cardLinks got ${card} instead of a card: is the card issued, and is the call that returns it awaited?`,
    );
  requireKnownNames("cardLinks", options, linkOptionNames, unknownOption);
  const { wallets = {} } = options;
  requireKnownNames("wallets of cardLinks", wallets, walletNames, unknownOption);
  const publicUrl = typeof card === "string" ? card : card.publicUrl;
  const isMissing = publicUrl === undefined || publicUrl === null;
  const page = parseHttpUrl("publicUrl", publicUrl, isMissing ? missingPage : otherPage);
  const service = parseHttpUrl("baseUrl", options.baseUrl ?? page.origin, ".");
  const { first = "apple", second = "google" } = wallets;
  const button = (wallet: string) =>
    appendPath(service, `assets/add-to-${encodeURIComponent(wallet)}-wallet.svg`);
  return {
    page: page.href,
    addToFirstWallet: appendPath(page, "pass.pkpass"),
    addToSecondWallet: appendPath(page, encodeURIComponent(second)),
    firstWalletButton: button(first),
    secondWalletButton: button(second),
  };
}

const missingPage = ": it is missing. Is the card issued, and is the call that returns it awaited?";
const otherPage = ": pass the card, or its publicUrl.";

/**
 * Accepts only http and https, because users click these links.
 * @param end the end of the message for another address.
 */
function parseHttpUrl(name: string, address: string | URL | undefined, end: string): URL {
  const url = parseUrl(address);
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw configurationError(`${name} is not an http or https address${end}`);
}

/** Appends a path to the path of an address, before its query. */
function appendPath(address: URL, path: string): string {
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
  return url.href;
}

/**
 * Returns the QR code of a card as SVG: the address of its page, dark on white in light and dark
 * pages, with the margin that scanners need.
 * @param card a card, or its `publicUrl`.
 * @param options `sizePx`: width and height in CSS pixels, default 240. Scanners need about 160 on
 * a screen, and 25 mm on paper.
 * @throws {IssuingError} `configuration` when the address is not http or https, and for a `sizePx`
 * that is not above 0.
 * @throws {RangeError} when the address is too long for a QR code: more than 2 331 bytes.
 * @example
 * ```ts
 * import { qrCodeSvg } from "@loyalty-cards/issuing-client/links";
 *
 * const svg = qrCodeSvg("https://cards.example.com/cards/8sT2kq", { sizePx: 320 });
 * ```
 */
export function qrCodeSvg(
  card: { publicUrl: string } | string,
  options: { sizePx?: number | undefined } = {},
): string {
  requireKnownNames("qrCodeSvg", options, { sizePx: true }, unknownOption);
  const { sizePx = 240 } = options;
  if (!(Number.isFinite(sizePx) && sizePx > 0))
    throw configurationError(`sizePx must be a number above 0, not ${String(sizePx)}.`);
  const { size, path } = toQrPath(cardLinks(card).page);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${sizePx}" height="${sizePx}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="QR code"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`;
}
