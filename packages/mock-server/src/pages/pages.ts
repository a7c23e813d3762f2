/** Handlers of the pages: the list of links, cards, wallets, files of the console, the notice of the API reference; and the start page. */
import type { State } from "../backend/backend.ts";
import { addToWallet, type StoredCard } from "../domain/cards.ts";
import type { Domain, Wallets } from "../domain/context.ts";
import { Problem } from "../domain/problem.ts";
import { emptyResponse, type ServiceResponse } from "../http/messages.ts";
import {
  type CardView,
  cardPage,
  cardView,
  coloursStyle,
  notFoundPage,
  walletButton,
  walletPage,
} from "./card-page.ts";
import { fileResponse, html, type Markup, page, pageResponse, referenceNoticePage } from "./html.ts";
import { bundleConsole, staticFiles } from "./node-static-files.ts";

export function startResponse(domain: Domain<State>): ServiceResponse {
  const newest = [...domain.state.cards.values()].at(-1);
  return pageResponse(startPage(newest && cardView(domain, newest)));
}

export function cardResponse(domain: Domain<State>, slug: string): ServiceResponse {
  const card = findCard(domain, slug);
  if (card === undefined) return pageResponse(notFoundPage("../"), 404);
  return pageResponse(cardPage(cardView(domain, card), domain.wallets));
}

/** The page of a wallet's link. With `add` it adds the card to the wallet, as the button of a real wallet does. */
export function walletResponse(
  domain: Domain<State>,
  slug: string,
  leaf: string,
  action: "show" | "add",
): ServiceResponse {
  const card = findCard(domain, slug);
  const wallet = findWallet(domain.wallets, leaf);
  if (card === undefined || wallet === undefined) return pageResponse(notFoundPage("../../"), 404);
  if (action === "show") return pageResponse(walletPage(cardView(domain, card), wallet));
  if (!card.wallets.includes(wallet)) addToWallet(domain, card.id, wallet);
  return emptyResponse(303, { location: `../${slug}` }); // relative, because the server has several host names
}

/** The last segment of a wallet's link (spec 2.2). */
function findWallet({ first, second }: Wallets, leaf: string): string | undefined {
  if (leaf === "pass.pkpass") return first;
  return leaf === second ? second : undefined;
}

export function assetResponse({ first, second }: Wallets, name: string): ServiceResponse | Problem {
  const wallet = [first, second].find((candidate) => name === `add-to-${candidate}-wallet.svg`);
  if (wallet !== undefined) return fileResponse(name, walletButton(wallet).text);
  const templateId = /^colours-of-(.*)\.css$/s.exec(name)?.[1];
  return templateId === undefined
    ? findFile(`assets/${name}`)
    : fileResponse("colours.css", coloursStyle(templateId));
}

export const referenceResponse = (): ServiceResponse => pageResponse(referenceNoticePage());

export function findFile(path: string): ServiceResponse | Problem {
  const content = path === "console/main.js" ? bundleConsole() : staticFiles.get(path);
  return content === undefined ? new Problem(404, "There is no such file.") : fileResponse(path, content);
}

const findCard = ({ state }: Domain<State>, slug: string): StoredCard | undefined =>
  state.cards.get(state.cardIdBySlug.get(slug) ?? "");

const repository = "https://github.com/loyalty-cards/loyalty-cards/blob/main/packages/mock-server";

/** @param newest the card that was issued last. */
export const startPage = (newest: CardView | undefined): Markup =>
  page(
    "Mock service",
    "",
    html`<link rel="stylesheet" href="assets/page.css">`,
    html`<main class="start">
<h1>Mock service</h1>
<p>A mock of the Loyalty Card Issuing Service, for development and tests. Its API is at <code>/api/v1</code>.</p>
<nav aria-label="Pages of this service">
${link("console", "Console", "Issue cards, record purchases, watch webhooks, and copy the API keys.")}
${link("api/docs", "API reference", "Read about each operation and try it.")}
${
  newest === undefined
    ? html``
    : link(
        `cards/${newest.slug}`,
        `Newest card: ${newest.shopName}`,
        "What the customer sees, with its QR code.",
      )
}
${link(`${repository}/CONTROL.md`, "Control API", "Do from a program what the console does.")}
${link(`${repository}/README.md`, "README", "Use the service in tests, with seeds and faults.")}
</nav>
</main>`,
  );

const link = (address: string, title: string, text: string): Markup =>
  html`<a href="${address}"><strong>${title}</strong> ${text}</a>`;
