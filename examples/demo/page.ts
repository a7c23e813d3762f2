/** The pages of the demo's shop: its members with their balances, the sign-up form with its consent, and the privacy notice. */
import { escapeHtml } from "@loyalty-cards/internal/format";
import { cardLinks } from "@loyalty-cards/issuing-client/links";
import express, { type RequestHandler } from "express";
import { script, style } from "./browser.ts";

export interface Member {
  name: string;
  balance: number;
  /** The page of the card. Undefined: the card is issued later. */
  cardPage: string | undefined;
}

/** The version of the privacy notice. `sign-up.ts` of the Express example sends the same. */
export const privacyVersion = "2026-01";

/** For this demo only: a real shop shows each member only their own data. */
export function renderHome(members: readonly Member[]): string {
  return renderPage(
    "Coffee shop",
    `<header><h1>Coffee shop</h1><p>Every cup brings you closer to the next one.</p></header>
<main>
<form class="panel" aria-labelledby="join" novalidate>
<h2 id="join">Become a member</h2>
<p class="message" role="alert" hidden></p>
${renderField("name", "Name", 'autocomplete="name" aria-required="true"')}
${renderField("email", 'Email <span class="quiet">optional</span>', 'type="email" autocomplete="email"')}
${renderField("phone", 'Phone <span class="quiet">optional</span>', 'type="tel" autocomplete="tel" placeholder="600 100 200"')}
<div class="field"><label class="choice" for="privacy">
<input id="privacy" name="privacy" type="checkbox" value="${privacyVersion}" aria-required="true" aria-describedby="privacy-error">
<span>I have read the <a href="/privacy" target="_blank" rel="noopener">privacy notice</a></span></label>
<p class="error" id="privacy-error"></p></div>
<button>Get my card</button>
<p class="done" role="status"></p>
</form>
<section aria-labelledby="members">
<h2 id="members">Members</h2>
<div id="list">
${members.length === 0 ? '<p class="quiet">Nobody yet. Be the first.</p>' : members.map(renderMember).join("\n")}
</div>
</section>
</main>
<script>${script}</script>`,
  );
}

export const renderPrivacyNotice = (): string =>
  renderPage(
    "Privacy notice",
    `<header><h1>Privacy notice</h1><p>Version ${privacyVersion}</p></header>
<main class="text">
<p>Replace this text with your own privacy notice. The loyalty service stores the version that a member accepted as evidence of the consent, so change the version whenever the text changes.</p>
<p><a href="/">Back to the shop</a></p>
</main>`,
  );

/** Rejects a form without the consent that the shop sends to the service. */
export const requireConsent: RequestHandler = (request, response, next) =>
  express.json()(request, response, (error) => {
    if (error !== undefined)
      return response.status(400).json({ message: "The form is not JSON." });
    const { name, privacy } = request.body ?? {};
    if (privacy === privacyVersion) return next();
    const detail = "Please read and accept the privacy notice.";
    const fields = [{ pointer: "/privacy", detail }];
    if (!name)
      fields.unshift({ pointer: "/name", detail: "Please enter your name." });
    response.status(422).json({ fields });
  });

const renderPage = (title: string, content: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
${content}
</body>
</html>
`;

/** A cup. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="#0f5c63"/><path d="M8 11h13v6.5a6.5 6.5 0 0 1-13 0z" fill="#fff"/><path d="M21 13h1.5a2.75 2.75 0 0 1 0 5.5H21" fill="none" stroke="#fff" stroke-width="1.8"/></svg>`;

const renderField = (name: string, label: string, attributes: string) =>
  `<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" maxlength="200" ${attributes} aria-describedby="${name}-error">
<p class="error" id="${name}-error"></p></div>`;

function renderMember({ name, balance, cardPage }: Member): string {
  const heading = `<h3>${escapeHtml(name)}</h3>`;
  if (cardPage === undefined)
    return `<article class="panel later">${heading}
<p>The card is on its way. It will appear here; you do not have to wait.</p></article>`;
  const points = new Intl.NumberFormat("en-GB").format(balance);
  const links = cardLinks(cardPage);
  const link = `<a href="${escapeHtml(cardPage)}">Card<span class="unseen"> of ${escapeHtml(name)}</span></a>`;
  return `<article class="panel"><div class="head">${heading}${link}</div>
<p class="balance"><strong>${points}</strong> ${balance === 1 ? "point" : "points"}</p>
<div class="wallets">
${renderButton(links.addToFirstWallet, links.firstWalletButton, "Add to Apple Wallet")}
${renderButton(links.addToSecondWallet, links.secondWalletButton, "Add to Google Wallet")}
</div></article>`;
}

const renderButton = (href: string, image: string, label: string) =>
  `<a href="${escapeHtml(href)}"><img src="${escapeHtml(image)}" alt="${label}" height="48"></a>`;
