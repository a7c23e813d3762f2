/** The routes of the pages: cards, wallets, files of the console and the pages. */
import type { Backend } from "../backend/backend.ts";
import { addToWallet } from "../domain/cards.ts";
import type { Domain, Wallets } from "../domain/context.ts";
import { Problem } from "../domain/problem.ts";
import { type App, createGuard } from "../http/app.ts";
import { emptyReply, type Reply, send } from "../http/reply.ts";
import { cardPage, notFoundPage, toCardView, walletButton, walletPage } from "./card-page.ts";
import { fileReply, pageReply } from "./html.ts";

export function addPages(app: App, { domain, settings }: Backend): void {
  const { baseUrl, acceptsAnyHost, wallets } = settings;
  const guard = createGuard(baseUrl, acceptsAnyHost);
  app.use("/", guard);
  app.use("/console/*", guard);
  // Anyone who has the address of a card may add it; pages of other origins may not.
  app.use("/cards/*", createGuard(baseUrl, true));

  app.get("/", async (c) => send(c, await findFile("console/index.html")));
  app.get("/cards/:slug", (c) => {
    const card = findCard(domain, c.req.param("slug"));
    if (card === undefined) return send(c, pageReply(notFoundPage("../"), 404));
    const userAgent = c.req.header("user-agent") ?? "";
    return send(c, pageReply(cardPage(toCardView(domain, card), wallets, userAgent)));
  });
  app.on(["GET", "POST"], "/cards/:slug/:leaf", (c) => {
    const { slug, leaf } = c.req.param();
    return send(c, walletReply(domain, slug, leaf, c.req.method === "POST"));
  });
  app.get("/assets/:name", async (c) => send(c, await assetReply(wallets, c.req.param("name"))));
  app.get("/console", async (c) => send(c, await findFile("console/index.html")));
  app.get("/console/", (c) => send(c, emptyReply(308, { location: "../console" })));
  app.get("/console/:name", async (c) => send(c, await findFile(`console/${c.req.param("name")}`)));
}

const findCard = ({ state }: Domain, slug: string) => state.cards.get(state.cardIdBySlug.get(slug) ?? "");

/** The page of a wallet's link (spec 2.2). A POST adds the card to the wallet, as the button of a real wallet does. */
function walletReply(domain: Domain, slug: string, leaf: string, isPost: boolean): Reply {
  const { first, second } = domain.wallets;
  const card = findCard(domain, slug);
  const wallet = leaf === "pass.pkpass" ? first : leaf === second ? second : undefined;
  if (card === undefined || wallet === undefined) return pageReply(notFoundPage("../../"), 404);
  if (!isPost) return pageReply(walletPage(toCardView(domain, card), wallet));
  if (!card.wallets.includes(wallet)) addToWallet(domain, card.id, wallet);
  return emptyReply(303, { location: `../${slug}` }); // relative, because the server has several host names
}

async function assetReply({ first, second }: Wallets, name: string): Promise<Reply> {
  const wallet = [first, second].find((candidate) => name === `add-to-${candidate}-wallet.svg`);
  if (wallet === undefined) return findFile(`assets/${name}`);
  const { body, ...reply } = await findFile("assets/wallet-button.svg");
  return { ...reply, body: walletButton(wallet, String(body)) };
}

/** A file of static/. The files are loaded on the first request, because most services are only called by programs. */
export async function findFile(path: string): Promise<Reply> {
  const { bundleConsole, staticFiles } = await import("./node-static-files.ts");
  const content = path === "console/main.js" ? bundleConsole() : staticFiles.get(path);
  if (content === undefined) throw new Problem(404, "There is no such file.");
  return fileReply(path, content);
}
