/** The script and the style sheet of the demo's page. */

/** Sends the form, shows errors beside their fields, and keeps the list of members up to date while the page is visible. */
export const script = `
const form = document.querySelector("form");
const button = form.querySelector("button");
const message = form.querySelector(".message");
const done = form.querySelector(".done");
let rejected; // the user whose form was rejected: the next one is a correction
let isPending = false;

function showErrors(text, fields = []) {
  const errors = {};
  for (const { pointer, detail } of fields)
    errors[pointer.split("/").pop()] = detail || text;
  let first;
  for (const input of form.querySelectorAll("input")) {
    const error = errors[input.name] ?? "";
    document.getElementById(input.name + "-error").textContent = error;
    input.setAttribute("aria-invalid", String(error !== ""));
    if (error !== "") first ??= input;
  }
  message.textContent = first ? "" : (text ?? "");
  message.hidden = message.textContent === "";
  first?.focus();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (isPending) return;
  isPending = true;
  button.textContent = "One moment…";
  button.setAttribute("aria-disabled", "true");
  done.textContent = "";
  showErrors();
  try {
    await send(Object.fromEntries(new FormData(form)));
  } catch {
    showErrors("The shop does not respond. Please try again.");
  }
  isPending = false;
  button.textContent = "Get my card";
  button.removeAttribute("aria-disabled");
});

async function send(values) {
  const [method, path] = rejected ? ["PUT", "/users/" + rejected] : ["POST", "/sign-up"];
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method, headers, body: JSON.stringify(values) });
  const { userId, message: text, fields } = await response.json();
  if (response.status === 422) rejected = userId ?? rejected;
  if (!response.ok) return showErrors(text, fields);
  rejected = undefined;
  form.reset();
  done.textContent = text ?? "Welcome, " + values.name + ". Your card is ready.";
  await update();
}

async function update() {
  if (document.hidden) return;
  try {
    const text = await (await fetch("/")).text();
    const next = new DOMParser().parseFromString(text, "text/html").getElementById("list");
    const list = document.getElementById("list");
    if (next === null || next.innerHTML === list.innerHTML) return;
    const focused = [...list.querySelectorAll("a")].find((link) => link === document.activeElement);
    const isIssued = list.querySelector(".later") && !next.querySelector(".later");
    if (isIssued && done.textContent !== "") done.textContent = "Your card is ready.";
    list.replaceWith(next);
    if (focused) [...next.querySelectorAll("a")].find(({ href }) => href === focused.href)?.focus();
  } catch {
    // The shop was stopped, or starts again: the next request follows.
  }
}

async function run() {
  await update();
  setTimeout(run, 2000);
}
setTimeout(run, 2000);
document.addEventListener("visibilitychange", update);
`;

export const style = `
:root { color-scheme: light dark; --ink: light-dark(#22302f, #eef2ee); --soft: light-dark(#5b6866, #aab8b5);
  --page: light-dark(#f6f1e9, #131a1b); --panel: light-dark(#fffdf9, #1c2526); --line: light-dark(#e2d8c8, #324041);
  --edge: light-dark(#87908b, #7c8a88); --link: light-dark(#0f5c63, #7cd0d6); --wrong: light-dark(#a8261b, #ff9c8f); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: "Avenir Next", Avenir, "Segoe UI", system-ui, sans-serif; }
header, main { width: min(100% - 2rem, 60rem); margin-inline: auto; }
header { padding-block: 2rem 1.25rem; }
main { display: grid; gap: 2rem; align-items: start; padding-bottom: 3rem; }
@media (min-width: 52rem) { main:not(.text) { grid-template-columns: 22rem 1fr; } }
h1, h2, h3, p { margin: 0; }
h1 { font-family: "Iowan Old Style", Palatino, Georgia, serif; font-size: 2.4rem; line-height: 1.15; }
h2 { font-size: 1.3rem; }
h3 { font-size: 1.05rem; overflow-wrap: anywhere; }
header p, .quiet { color: var(--soft); }
.quiet { font-size: .9em; font-weight: 400; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 1.1rem; padding: 1.25rem; }
#list, form { display: grid; gap: 1rem; }
section { display: grid; gap: 1rem; }
article { display: grid; gap: .35rem; }
.later { border-style: dashed; color: var(--soft); }
.later h3 { color: var(--ink); }
.head { display: flex; justify-content: space-between; gap: 1rem; }
.balance strong { font-size: 2rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.field { display: grid; gap: .3rem; }
label { font-weight: 600; }
input { font: inherit; color: inherit; width: 100%; min-height: 3rem; padding: .6rem .85rem; background: var(--page);
  border: 1.5px solid var(--edge); border-radius: .65rem; }
.choice { display: flex; gap: .6rem; align-items: center; font-weight: 400; }
.choice input { flex: none; width: 1.35rem; min-height: 1.35rem; margin: 0; accent-color: #0f5c63; }
.choice [aria-invalid=true] { outline: 2px solid var(--wrong); outline-offset: 2px; }
.text { max-width: 40rem; margin-inline: max(1rem, 50vw - 30rem); }
input::placeholder { color: var(--soft); opacity: 1; }
[aria-invalid=true] { border-color: var(--wrong); }
.error, .message { color: var(--wrong); font-weight: 600; font-size: .95rem; }
.error:empty, .done:empty { display: none; }
.message { border: 1.5px solid; border-radius: .65rem; padding: .6rem .85rem; }
.done { color: var(--link); font-weight: 600; }
button { font: inherit; font-weight: 650; min-height: 3.25rem; border: 0; border-radius: .8rem; background: #0f5c63; color: #fff; cursor: pointer; }
button:hover { background: #0a4a50; }
button[aria-disabled] { background: #4d6668; cursor: progress; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
a { color: var(--link); display: inline-block; padding-block: .25rem; }
.wallets { display: flex; flex-wrap: wrap; gap: .25rem .75rem; }
.wallets img { display: block; height: 3rem; width: auto; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
