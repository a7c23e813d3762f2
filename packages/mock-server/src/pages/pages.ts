/** Everything of the service that people look at, page by page. */
import { addToWallet } from "../domain/cards.ts";
import { Problem } from "../domain/problem.ts";
import type { Wallets } from "../domain/surroundings.ts";
import type { Reply } from "../http/reply.ts";
import type { Worlds } from "../worlds.ts";
import { cardPage } from "./card-page.ts";
import { type CardView, cardView } from "./card-view.ts";
import { notFoundPage } from "./not-found-page.ts";
import { fileReply, pageReply } from "./page-reply.ts";
import { referenceElsewherePage } from "./reference-page.ts";
import { staticFiles } from "./static-files.ts";
import { walletButton } from "./wallet-button.ts";
import { walletPage } from "./wallet-page.ts";
import { walletPass } from "./wallet-pass.ts";

export function cardReply(worlds: Worlds, slug: string): Reply {
  const found = cardAt(worlds, slug);
  if (found === undefined) return pageReply(notFoundPage("../"), 404);
  const { domain, card } = found;
  return pageReply(cardPage(cardView(domain, card), domain.wallets));
}

/** The direct links of both wallets: the pass of the first, the page of the second. */
export async function walletReply(worlds: Worlds, slug: string, leaf: string): Promise<Reply> {
  const found = cardAt(worlds, slug);
  if (found === undefined) return pageReply(notFoundPage("../../"), 404);
  const { domain, card } = found;
  const view = cardView(domain, card);
  if (leaf === "pass.pkpass") return passReply(view, new Date(domain.nowMs()));
  if (leaf === domain.wallets.second) return pageReply(walletPage(view, leaf));
  return pageReply(notFoundPage("../../"), 404);
}

/** What the second wallet's app would tell the service. */
export function addReply(worlds: Worlds, slug: string, leaf: string): Reply {
  const found = cardAt(worlds, slug);
  if (found === undefined || leaf !== found.domain.wallets.second) {
    return pageReply(notFoundPage("../../"), 404);
  }
  const { domain, card } = found;
  if (!card.wallets.includes(leaf)) addToWallet(domain, card.id, leaf);
  return { status: 303, headers: { location: `../${slug}` } }; // relative: this machine has several names
}

export function assetReply({ first, second }: Wallets, name: string): Reply | Problem {
  const wallet = [first, second].find((candidate) => name === `add-to-${candidate}-wallet.svg`);
  return wallet === undefined ? fileAt(`assets/${name}`) : fileReply(name, walletButton(wallet).text);
}

export const referenceReply = (): Reply => pageReply(referenceElsewherePage());

export function fileAt(path: string): Reply | Problem {
  const content = staticFiles.get(path);
  return content === undefined ? new Problem(404, "There is no such file.") : fileReply(path, content);
}

/** The address of a page names no world. */
function cardAt(worlds: Worlds, slug: string) {
  for (const { domain } of worlds.all()) {
    const card = domain.state.cards.get(domain.state.cardIdBySlug.get(slug) ?? "");
    if (card !== undefined) return { domain, card };
  }
  return undefined;
}

async function passReply(view: CardView, at: Date): Promise<Reply> {
  return {
    status: 200,
    content: await walletPass(view, at),
    headers: {
      "content-type": "application/vnd.apple.pkpass",
      "content-disposition": 'attachment; filename="unsigned.pkpass"',
      "cache-control": "no-store",
    },
  };
}
