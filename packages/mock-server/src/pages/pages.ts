/** Handlers of the pages: cards, wallets, files of the console, the notice of the API reference. */
import { addToWallet } from "../domain/cards.ts";
import type { Wallets } from "../domain/context.ts";
import { Problem } from "../domain/problem.ts";
import { emptyResponse, type ServiceResponse } from "../http/response.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { cardPage, coloursStyle, notFoundPage, walletButton, walletPage } from "./card-page.ts";
import { cardView } from "./card-view.ts";
import { fileResponse, pageResponse } from "./html.ts";
import { staticFiles } from "./node-static-files.ts";
import { referenceNoticePage } from "./reference-page.ts";
import { walletPass } from "./wallet-pass.ts";

export function cardResponse(sandboxes: Sandboxes, slug: string): ServiceResponse {
  const found = cardAt(sandboxes, slug);
  if (found === undefined) return pageResponse(notFoundPage("../"), 404);
  const { domain, card } = found;
  return pageResponse(cardPage(cardView(domain, card), domain.wallets));
}

/** The links of both wallets: the pass of the first, the page of the second. */
export async function walletResponse(
  sandboxes: Sandboxes,
  slug: string,
  leaf: string,
): Promise<ServiceResponse> {
  const found = cardAt(sandboxes, slug);
  if (found === undefined) return pageResponse(notFoundPage("../../"), 404);
  const { domain, card } = found;
  const view = cardView(domain, card);
  if (leaf === "pass.pkpass") {
    return {
      status: 200,
      body: await walletPass(view, domain.nowMs()),
      headers: {
        "content-type": "application/vnd.apple.pkpass",
        "content-disposition": 'attachment; filename="unsigned.pkpass"',
        "cache-control": "no-store",
      },
    };
  }
  if (leaf === domain.wallets.second) return pageResponse(walletPage(view, leaf));
  return pageResponse(notFoundPage("../../"), 404);
}

/** Adds the card to the second wallet, as the vendor's app would. */
export function addToWalletResponse(sandboxes: Sandboxes, slug: string, leaf: string): ServiceResponse {
  const found = cardAt(sandboxes, slug);
  if (found === undefined || leaf !== found.domain.wallets.second) {
    return pageResponse(notFoundPage("../../"), 404);
  }
  const { domain, card } = found;
  if (!card.wallets.includes(leaf)) addToWallet(domain, card.id, leaf);
  return emptyResponse(303, { location: `../${slug}` }); // relative, because the server has several host names
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

/** A page's address does not contain the sandbox. */
function cardAt(sandboxes: Sandboxes, slug: string) {
  for (const { domain } of sandboxes.list()) {
    const card = domain.state.cards.get(domain.state.cardIdBySlug.get(slug) ?? "");
    if (card !== undefined) return { domain, card };
  }
  return undefined;
}
