/** Handlers of the pages: the list of links, cards, wallets, files of the console, the notice of the API reference. */
import type { State } from "../backend/state.ts";
import { addToWallet, type StoredCard } from "../domain/cards.ts";
import type { Domain, Wallets } from "../domain/context.ts";
import { Problem } from "../domain/problem.ts";
import { emptyResponse, type ServiceResponse } from "../http/response.ts";
import { cardPage, coloursStyle, notFoundPage, walletButton, walletPage } from "./card-page.ts";
import { cardView } from "./card-view.ts";
import { fileResponse, pageResponse } from "./html.ts";
import { staticFiles } from "./node-static-files.ts";
import { referenceNoticePage } from "./reference-page.ts";
import { startPage } from "./start-page.ts";

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
  const content = staticFiles.get(path);
  return content === undefined ? new Problem(404, "There is no such file.") : fileResponse(path, content);
}

const findCard = ({ state }: Domain<State>, slug: string): StoredCard | undefined =>
  state.cards.get(state.cardIdBySlug.get(slug) ?? "");
