/** The addresses that belong to a card, all derived from its public page (spec 2.2). */
import { configurationError } from "./errors.ts";
import { isPromise } from "./identifier.ts";

/** Where a card is shown and added to wallets (spec 2.2). */
export interface CardLinks {
  /** The card's page, and the target of its QR code. */
  page: string;
  addToFirstWallet: string;
  /** Needs `wallets`: its last segment is named after the second wallet's vendor. */
  addToSecondWallet?: string;
  /** The button images need `baseUrl` and `wallets`. */
  firstWalletButton?: string;
  secondWalletButton?: string;
}

/** What a card itself does not tell: the service's address, and the wallets' names. */
export interface CardLinksOptions {
  /** The service's address, where the button images are. */
  baseUrl?: string | undefined;
  /** The vendors' names as the service writes them in addresses. */
  wallets?: { first: string; second: string } | undefined;
}

/**
 * @param card a card, or its `publicUrl`.
 * @throws {IssuingError} `configuration` when there is no http(s) address: a link is put where users click.
 */
export function cardLinks(card: { publicUrl: string } | string, options: CardLinksOptions = {}): CardLinks {
  if (isPromise(card)) throw configurationError("cardLinks got a promise instead of a card: await it.");
  const page = checkedAddress("publicUrl", typeof card === "string" ? card : card?.publicUrl);
  const { baseUrl, wallets } = options;
  const links: CardLinks = { page, addToFirstWallet: below(page, "pass.pkpass") };
  if (wallets === undefined) return links;
  links.addToSecondWallet = below(page, segment(wallets.second));
  if (baseUrl === undefined) return links;
  const assets = checkedAddress("baseUrl", baseUrl);
  const button = (wallet: string) => below(assets, `assets/add-to-${segment(wallet)}-wallet.svg`);
  return { ...links, firstWalletButton: button(wallets.first), secondWalletButton: button(wallets.second) };
}

function checkedAddress(name: string, address: unknown): string {
  if (typeof address === "string" && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) {
    return new URL(address).href;
  }
  throw configurationError(`${name} is not an http or https address.`);
}

/** A vendor's name as one segment, which a dot segment is not. */
function segment(name: string): string {
  if (typeof name === "string" && /[^.]/.test(name)) return encodeURIComponent(name);
  throw configurationError("wallets must name both vendors.");
}

/** Keeps a query where it is: behind the path. */
function below(address: string, path: string): string {
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url.href;
}
