/** Everything of the service that people look at, by its address. */
import type { StoredCard } from "../domain/cards.ts";
import { cardPage } from "./card-page.ts";
import { type CardView, cardView, type Shop } from "./card-view.ts";
import { notFoundPage } from "./not-found-page.ts";
import { fileResponse, pageResponse } from "./page-response.ts";
import { referenceElsewherePage } from "./reference-page.ts";
import { staticFiles } from "./static-files.ts";
import { walletButton } from "./wallet-button.ts";
import { walletPage } from "./wallet-page.ts";
import { walletPass } from "./wallet-pass.ts";

/** Who owns the card that a public page names. */
export type FindCard = (slug: string) => { shop: Shop; card: StoredCard } | undefined;

/** The page or file at a path below the base URL; undefined when it is none. */
export async function pageAt(
  segments: readonly string[],
  shop: Shop,
  findCard: FindCard,
): Promise<Response | undefined> {
  const [room, name = "", leaf] = segments;
  if (room === "cards" && segments.length > 1 && segments.length <= 3) return cardAt(name, leaf, findCard);
  if (room === "assets" && segments.length === 2) return assetAt(name, shop);
  if (room === "console" && segments.length <= 2)
    return consoleAt(segments.length === 1 ? "index.html" : name);
  if (segments.join("/") === "api/docs") return pageResponse(referenceElsewherePage());
  return undefined;
}

async function cardAt(slug: string, leaf: string | undefined, findCard: FindCard): Promise<Response> {
  const found = findCard(slug);
  const up = leaf === undefined ? "../" : "../../";
  if (found === undefined) return pageResponse(notFoundPage(up), 404);
  const { shop, card } = found;
  const view = cardView(shop, card);
  if (leaf === undefined) return pageResponse(cardPage(view, shop.wallets));
  if (leaf === "pass.pkpass") return passResponse(view, new Date(shop.nowMs()));
  if (leaf === shop.wallets.second) return pageResponse(walletPage(view, leaf));
  return pageResponse(notFoundPage(up), 404);
}

async function passResponse(view: CardView, at: Date): Promise<Response> {
  return new Response(await walletPass(view, at), {
    headers: {
      "content-type": "application/vnd.apple.pkpass",
      "content-disposition": 'attachment; filename="unsigned.pkpass"',
      "cache-control": "no-store",
    },
  });
}

function assetAt(name: string, { wallets }: Shop): Response | undefined {
  for (const wallet of [wallets.first, wallets.second]) {
    if (name === `add-to-${wallet}-wallet.svg`) return fileResponse(name, walletButton(wallet).text);
  }
  return fileAt(`assets/${name}`);
}

const consoleAt = (name: string) => fileAt(`console/${name}`);

function fileAt(path: string): Response | undefined {
  const content = staticFiles.get(path);
  return content === undefined ? undefined : fileResponse(path, content);
}
