/** The routes of the pages: cards, wallets, files of the console and the pages. */
import type { Backend } from "../backend/backend.ts";
import { addToWallet } from "../domain/cards.ts";
import type { Domain, Wallets } from "../domain/context.ts";
import { createProblem } from "../domain/problem.ts";
import { type App, respond } from "../http/app.ts";
import { emptyReply, problemReply, type Reply } from "../http/reply.ts";
import { cardPage, notFoundPage, toCardView, walletButton, walletPage } from "./card-page.ts";
import { fileReply, pageReply } from "./html.ts";

export function addPages(app: App, { domain, settings }: Backend): void {
  const { wallets } = settings;
  app.get("/", async (context) => respond(context, await findFile("console/index.html")));
  app.get("/cards/:slug", (context) => {
    const card = findCardBySlug(domain, context.req.param("slug"));
    if (card === undefined) return respond(context, pageReply(notFoundPage("../"), 404));
    const userAgent = context.req.header("user-agent") ?? "";
    return respond(context, pageReply(cardPage(toCardView(domain, card), wallets, userAgent)));
  });
  app.on(["GET", "POST"], "/cards/:slug/:leaf", (context) => {
    const { slug, leaf } = context.req.param();
    const isPost = context.req.method === "POST";
    return respond(context, walletReply(domain, { slug, leaf, isPost }));
  });
  app.get("/assets/:name", async (context) =>
    respond(context, await assetReply(wallets, context.req.param("name"))),
  );
  app.get("/console", async (context) => respond(context, await findFile("console/index.html")));
  app.get("/console/", (context) => respond(context, emptyReply(308, { location: "../console" })));
  app.get("/console/:name", async (context) =>
    respond(context, await findFile(`console/${context.req.param("name")}`)),
  );
}

const findCardBySlug = ({ state }: Domain, slug: string) =>
  state.cards.get(state.cardIdBySlug.get(slug) ?? "");

/**
 * The page of a wallet's link (spec 2.2). A POST adds the card to the wallet, as the button of a
 * real wallet does.
 */
function walletReply(
  domain: Domain,
  { slug, leaf, isPost }: { slug: string; leaf: string; isPost: boolean },
): Reply {
  const card = findCardBySlug(domain, slug);
  const wallet = findWallet(domain.wallets, leaf);
  if (card === undefined || wallet === undefined) return pageReply(notFoundPage("../../"), 404);
  if (!isPost && leaf === passFile)
    return emptyReply(302, { location: encodeURIComponent(wallet) });
  const position = wallet === domain.wallets.first ? "first" : "second";
  if (!isPost) return pageReply(walletPage(toCardView(domain, card), wallet, position));
  if (!card.wallets.includes(wallet)) addToWallet(domain, card.id, wallet);
  // The address is relative, because the server has several host names.
  return emptyReply(303, { location: `../${slug}` });
}

/** The link of the first wallet, which leads to a page because the mock makes no such file. */
const passFile = "pass.pkpass";

function findWallet({ first, second }: Wallets, leaf: string): string | undefined {
  if (leaf === passFile) return first;
  return [first, second].find((wallet) => wallet === leaf);
}

async function assetReply({ first, second }: Wallets, name: string): Promise<Reply> {
  const wallet = [first, second].find((candidate) => name === `add-to-${candidate}-wallet.svg`);
  const [, color] = /^card-([\da-f]{6})\.css$/i.exec(name) ?? [];
  if (color !== undefined) return fileReply(name, `:root { --card: #${color}; }\n`);
  if (wallet === undefined) return findFile(`assets/${name}`);
  const { body, ...reply } = await findFile("assets/wallet-button.svg");
  return { ...reply, body: walletButton(String(body), wallet, wallet === first) };
}

/**
 * A file of static/. The files are loaded on the first request, because most services are only
 * called by programs.
 */
export async function findFile(path: string): Promise<Reply> {
  const { bundleConsole, staticFiles } = await import("./node-static-files.ts");
  const content = path === "console/main.js" ? bundleConsole() : staticFiles.get(path);
  if (content === undefined) return problemReply(createProblem(404, "There is no such file."));
  return fileReply(path, content);
}
