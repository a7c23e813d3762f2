/** The home page of the demo's shop: its members with their balances, and the sign-up form. */
import { escapeHtml } from "@loyalty-cards/internal/format";
import { walletButtonsHtml } from "@loyalty-cards/issuing-client/links";

export interface Member {
  name: string;
  balance: number;
  /** The page of the card. */
  cardPage: string;
}

/** For this demo only: a real shop shows each member only their own data. */
export function renderHome(members: readonly Member[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Coffee shop</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 2rem auto; padding: 0 1rem }
section { border: 1px solid light-dark(#d0d0d0, #555); border-radius: 12px; padding: 0 1.25rem 1.25rem; margin: 1rem 0 }
label { display: block; margin: .5rem 0 }
input { display: block; box-sizing: border-box; width: 100%; padding: .5rem; font: inherit }
button { padding: .5rem 1.25rem; margin-top: .5rem; font: inherit }
img { margin: .5rem .5rem 0 0 }
</style>
<h1>Coffee shop</h1>
${members.map(renderMember).join("\n")}
<section>
<h2>Become a member</h2>
<form>
<label>Name <input name="name" autocomplete="name"></label>
<label>Email <input name="email" type="email" autocomplete="email"></label>
<label>Phone <input name="phone" type="tel" autocomplete="tel"></label>
<button>Sign up</button>
<p role="status"></p>
</form>
</section>
<script>
const form = document.querySelector("form");
let rejected; // the user whose form was rejected: the next one is a correction
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const [method, path] = rejected ? ["PUT", "/users/" + rejected] : ["POST", "/sign-up"];
  const body = JSON.stringify(Object.fromEntries(new FormData(form)));
  const response = await fetch(path, { method, headers: { "content-type": "application/json" }, body });
  const { userId, message } = await response.json();
  if (response.status === 422) rejected = userId;
  if (message === undefined) location.reload();
  else form.querySelector("[role=status]").textContent = message;
});
</script>
`;
}

const renderMember = ({ name, balance, cardPage }: Member) => `<section>
<h2>${escapeHtml(name)}</h2>
<p>${balance} points · <a href="${escapeHtml(cardPage)}">card</a></p>
${walletButtonsHtml(cardPage)}
</section>`;
