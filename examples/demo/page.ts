/** The page of the demo's shop: a sign-up form, and the card of the user whose id is in the address. */

/** Sends the form, shows errors beside their fields, and keeps the card up to date while the page is visible. */
const script = `
const form = document.querySelector("form");
const card = document.getElementById("card");
const [button, message] = ["button", ".message"].map((name) => form.querySelector(name));
let rejected; // the user whose form was rejected: the next one is a correction

function showErrors(text = "", fields = []) {
  const errors = {};
  for (const { pointer, detail } of fields) errors[pointer.split("/").pop()] = detail || text;
  for (const input of form.querySelectorAll("input[id]")) {
    const error = errors[input.name] ?? "";
    document.getElementById(input.name + "-error").textContent = error;
    input.setAttribute("aria-invalid", String(error !== ""));
  }
  const first = form.querySelector("[aria-invalid=true]");
  message.textContent = first ? "" : text;
  first?.focus();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.textContent === "One moment…") return;
  button.textContent = "One moment…";
  showErrors();
  try {
    const { marketing, ...values } = Object.fromEntries(new FormData(form));
    const [method, path] = rejected ? ["PUT", "/users/" + rejected] : ["POST", "/sign-up"];
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ ...values, marketing: marketing === "on" });
    const response = await fetch(path, { method, headers, body });
    const { userId, message: text, fields } = await response.json();
    if (response.status === 422) rejected = userId;
    if (response.ok) location.hash = userId;
    else showErrors(text, fields);
  } catch {
    showErrors("The shop does not respond. Please try again.");
  }
  button.textContent = "Get my card";
});

async function update() {
  const id = location.hash.slice(1);
  form.hidden = id !== "";
  card.hidden = id === "";
  if (id === "" || document.hidden) return;
  const response = await fetch("/users/" + id).catch(() => undefined); // the next one follows
  if (!response?.ok) return;
  const { name, balance, links } = await response.json();
  const show = (selector, text) => {
    const element = card.querySelector(selector);
    if (element.textContent !== text) element.textContent = text;
  };
  show("h2", name);
  show("strong", new Intl.NumberFormat("en-GB").format(balance));
  show(".state", links ? "" : "Your card is on its way. You do not have to wait.");
  card.querySelector(".wallets").hidden = !links;
  if (!links) return;
  const [page, apple, google] = card.querySelectorAll("a");
  page.href = links.page;
  for (const [link, href, image] of [
    [apple, links.addToFirstWallet, links.firstWalletButton],
    [google, links.addToSecondWallet, links.secondWalletButton],
  ]) {
    link.href = href;
    if (link.firstChild.src !== image) link.firstChild.src = image;
  }
}
addEventListener("hashchange", update);
document.addEventListener("visibilitychange", update);
setInterval(update, 2000);
update();
`;

const style = `
:root { color-scheme: light dark; --ink: light-dark(#22302f, #eef2ee); --soft: light-dark(#5b6866, #aab8b5);
  --page: light-dark(#f6f1e9, #131a1b); --panel: light-dark(#fffdf9, #1c2526); --line: light-dark(#87908b, #7c8a88);
  --link: light-dark(#0f5c63, #7cd0d6); --wrong: light-dark(#a8261b, #ff9c8f); }
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
body { background: var(--page); color: var(--ink); line-height: 1.5; padding: 2rem 1rem;
  font-family: "Avenir Next", Avenir, "Segoe UI", system-ui, sans-serif; }
main { width: min(100%, 26rem); margin-inline: auto; display: grid; gap: 1.25rem; }
h1 { font: 600 2.2rem/1.15 "Iowan Old Style", Palatino, Georgia, serif; }
h2 { font-size: 1.3rem; overflow-wrap: anywhere; }
form, section, label { display: grid; gap: 1rem; }
form, section { background: var(--panel); border: 1px solid var(--line); border-radius: 1.1rem; padding: 1.25rem; }
label { gap: .3rem; font-weight: 600; }
input { font: inherit; color: inherit; width: 100%; min-height: 3rem; padding: .6rem .85rem; background: var(--page);
  border: 1.5px solid var(--line); border-radius: .65rem; }
.choice { display: flex; gap: .6rem; align-items: center; font-weight: 400; }
.choice input { flex: none; width: 1.35rem; min-height: 1.35rem; accent-color: #0f5c63; }
[aria-invalid=true] { border-color: var(--wrong); }
.error, .message { color: var(--wrong); font-weight: 600; }
.error:empty, .message:empty, .state:empty { display: none; }
.quiet, .state { color: var(--soft); }
strong { font-size: 2.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
button { font: inherit; font-weight: 650; min-height: 3.25rem; border: 0; border-radius: .8rem; background: #0f5c63; color: #fff; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
a { color: var(--link); padding-block: .25rem; }
.wallets { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; }
img { display: block; height: 3rem; }
`;

const renderField = (name: string, label: string, attributes: string) =>
  `<label for="${name}">${label}
<input id="${name}" name="${name}" maxlength="200" ${attributes} aria-describedby="${name}-error">
<span class="error" id="${name}-error"></span></label>`;

export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Coffee shop</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Coffee shop</h1>
<form aria-label="Become a member">
<h2>Become a member</h2>
<p class="message" role="alert"></p>
${renderField("name", "Name", 'autocomplete="name"')}
${renderField("email", "Email (optional)", 'type="email" autocomplete="email"')}
${renderField("phone", "Phone (optional)", 'type="tel" autocomplete="tel"')}
<label class="choice"><input type="checkbox" required> I accept the privacy notice, version 2026-01</label>
<label class="choice"><input name="marketing" type="checkbox"> Send me news and offers</label>
<button>Get my card</button>
</form>
<section id="card" aria-label="Your card" hidden>
<h2></h2>
<p><strong></strong> points</p>
<p class="state" role="status"></p>
<div class="wallets"><a>Open the card</a><a><img alt="Add to Apple Wallet" height="48"></a><a><img alt="Add to Google Wallet" height="48"></a></div>
<a href="#">Sign up somebody else</a>
</section>
</main>
<script>${script}</script>
</body>
</html>
`;
