/** The home page of the demo's shop: its members with their balances, and the sign-up form. */
import { escapeHtml } from "@loyalty-cards/internal/format";
import { walletButtonsHtml } from "@loyalty-cards/issuing-client/links";
import { script, style } from "./browser.ts";

export interface Member {
  name: string;
  balance: number;
  /** The page of the card. Undefined: the card is issued later. */
  cardPage: string | undefined;
}

/** For this demo only: a real shop shows each member only their own data. */
export function renderHome(members: readonly Member[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Coffee shop</title>
<style>${style}</style>
</head>
<body>
<header><h1>Coffee shop</h1><p>Every cup brings you closer to the next one.</p></header>
<main>
<form class="panel" aria-labelledby="join" novalidate>
<h2 id="join">Become a member</h2>
<p class="message" role="alert" hidden></p>
${renderField("name", "Name", 'autocomplete="name" aria-required="true"')}
${renderField("email", 'Email <span class="quiet">optional</span>', 'type="email" autocomplete="email"')}
${renderField("phone", 'Phone <span class="quiet">optional</span>', 'type="tel" autocomplete="tel" placeholder="600 100 200"')}
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
<script>${script}</script>
</body>
</html>
`;
}

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
  const link = `<a href="${escapeHtml(cardPage)}">Card<span class="unseen"> of ${escapeHtml(name)}</span></a>`;
  return `<article class="panel"><div class="head">${heading}${link}</div>
<p class="balance"><strong>${points}</strong> ${balance === 1 ? "point" : "points"}</p>
<div class="wallets">${walletButtonsHtml(cardPage)}</div></article>`;
}
