/** The script and the style sheet of the status page. Without JavaScript the page works, and "Refresh" is a link. */

/**
 * Replaces the content every few seconds while the tab is visible. What a person has selected, typed, opened or focused stays, and nothing
 * is replaced while text is marked, because that would end the marking.
 */
export const script = `
const every = 4000;
const url = new URL(location.href);
url.search = "";
history.replaceState(null, "", url); // otherwise a reload would show the notice of an old action again
const bar = document.getElementById("refresh");
bar.innerHTML = '<label><input type="checkbox" checked> Refresh automatically</label>';
const isOn = bar.querySelector("input");
const content = () => document.getElementById("content");
const kept = (root) => root.querySelectorAll("input[id], details[id]");
const isMarking = () => {
  const marked = getSelection();
  return marked !== null && !marked.isCollapsed && content().contains(marked.anchorNode);
};
const describe = (element) =>
  element === null || !content().contains(element) ? undefined
    : { index: [...content().querySelectorAll(element.tagName)].indexOf(element), id: element.id, tag: element.tagName,
        label: element.getAttribute("aria-label") ?? element.textContent + element.value };
const find = ({ index, id, tag, label }) => {
  if (id !== "") return document.getElementById(id);
  const alike = [...content().querySelectorAll(tag)].filter((other) => (other.getAttribute("aria-label") ?? other.textContent + other.value) === label);
  return alike.find((other) => other === content().querySelectorAll(tag)[index]) ?? alike[0];
};
function show(next) {
  for (const old of kept(content())) {
    const now = next.querySelector("#" + CSS.escape(old.id));
    if (now === null) continue;
    if (old.type === "checkbox") now.checked = old.checked;
    else if (old.tagName === "DETAILS") now.open = old.open;
    else now.value = old.value;
  }
  const active = document.activeElement;
  const focused = describe(active);
  const range = active?.type === "text" ? [active.selectionStart, active.selectionEnd] : undefined;
  content().replaceWith(next);
  const target = focused && find(focused);
  target?.focus({ preventScroll: true });
  if (range !== undefined && target) target.setSelectionRange(...range);
}
async function refresh() {
  if (!isOn.checked || document.hidden || isMarking()) return;
  try {
    const response = await fetch(url, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById("content");
    if (next === null) throw new Error("another page");
    if (!isMarking() && isOn.checked) show(document.adoptNode(next));
    bar.classList.remove("failed");
  } catch {
    bar.classList.add("failed"); // the next attempt follows
  }
}
async function run() {
  await refresh();
  setTimeout(run, every);
}
setTimeout(run, every);
document.addEventListener("visibilitychange", refresh);
isOn.addEventListener("change", refresh);
`;

export const style = `
:root { color-scheme: light dark; --ink: #1c2330; --quiet: #5b6473; --paper: #f6f7f9; --card: #fff; --line: #e3e6eb; --edge: #868e9c;
  --accent: #2457d6; --alarm: #b42318; --alarm-paper: #fef3f2; --warning: #93370d; --warning-paper: #fffaeb;
  --notice: #05603a; --notice-paper: #ecfdf3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --quiet: #a3adbd; --paper: #101318; --card: #181c23;
  --line: #2a303a; --edge: #76808f; --accent: #84a9ff; --alarm: #fda29b; --alarm-paper: #36140f; --warning: #fec84b;
  --warning-paper: #332409; --notice: #6ce9a6; --notice-paper: #0b2a1c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main { max-width: 1040px; margin: 0 auto; padding: 0 clamp(16px, 4vw, 24px); }
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 24px; padding-top: 32px; }
main { padding-bottom: 48px; }
h1 { font-size: 24px; letter-spacing: -.01em; margin: 0; }
h2 { font-size: 17px; margin: 32px 0 8px; }
h3 { font-size: 13px; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
p { margin: 0; }
a { color: var(--accent); }
.quiet { color: var(--quiet); }
.hint { margin-bottom: 10px; max-width: 68ch; }
#refresh { font-size: 14px; }
#refresh label { display: inline-flex; align-items: center; gap: 8px; min-height: 32px; }
#refresh.failed::after { content: "Not up to date: the last refresh failed."; color: var(--alarm); display: block; }
.note { padding: 12px 16px; border-radius: 10px; margin: 12px 0; overflow-wrap: anywhere; }
.warning { background: var(--warning-paper); color: var(--warning); }
.alarm { background: var(--alarm-paper); color: var(--alarm); }
.notice { background: var(--notice-paper); color: var(--notice); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin-top: 16px; }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 14px; }
.figure strong { display: block; white-space: nowrap; font-size: 24px; line-height: 1.15; font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -.02em; }
.figure span { color: var(--quiet); }
.alarming strong { color: var(--alarm); }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 14px; margin-bottom: 12px; overflow: hidden; }
.decision { padding: 14px 16px; margin-top: 12px; }
.decision p + p { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 10px; }
.bar { display: flex; flex-wrap: wrap; gap: 8px; margin-bottom: 10px; }
.group { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px 16px; padding: 10px 16px; border-bottom: 1px solid var(--line); }
.group h3 { flex: 1 1 240px; }
.count { display: inline-block; min-width: 24px; padding: 0 8px; border-radius: 12px; background: var(--line); text-align: center; font-variant-numeric: tabular-nums; }
ul { list-style: none; margin: 0; padding: 0; }
li + li { border-top: 1px solid var(--line); }
.item { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 1.3fr) 13.5em 7em; gap: 4px 16px; align-items: center; padding: 6px 16px; min-height: 44px; overflow-wrap: anywhere; font-size: 13px; font-variant-numeric: tabular-nums; }
.selectable { grid-template-columns: 20px minmax(0, 2fr) minmax(0, 1.3fr) 13.5em 7em; }
.selectable:has(:checked) { background: color-mix(in srgb, var(--accent) 9%, transparent); }
.selectable label { padding: 8px 0; cursor: pointer; }
.more { padding: 8px 16px; border-top: 1px solid var(--line); font-size: 13px; }
@media (max-width: 640px) {
  .figure strong { font-size: 22px; }
  .figure:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .item { grid-template-columns: 1fr auto; align-items: baseline; padding-block: 10px; }
  .item > :last-child, .item > span:not(.quiet) { text-align: end; }
  .selectable { grid-template-columns: 24px 1fr auto; gap: 0 8px; }
  .selectable > input { grid-row: span 2; align-self: center; }
  .item > code, .item > label { grid-column-end: span 1; }
  .selectable > .quiet:nth-last-child(2) { grid-column: 2; }
}
.resolution { display: flex; flex-wrap: wrap; gap: 8px 32px; align-items: start; padding: 0 16px 14px; }
.resolution label { display: block; font-size: 13px; font-weight: 600; padding: 4px 0; }
.entry { display: flex; flex-wrap: wrap; gap: 8px; }
.entry input { flex: 1 1 16em; }
summary { cursor: pointer; font-size: 13px; font-weight: 600; padding: 4px 0; min-height: 32px; color: var(--accent); }
details p { max-width: 44ch; margin-bottom: 8px; }
code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
form { margin: 0; }
input[type=checkbox] { width: 18px; height: 18px; margin: 0; accent-color: var(--accent); }
input:not([type]) { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 8px; padding: 5px 10px; min-height: 36px; width: 16em; max-width: 100%; }
::placeholder { color: var(--quiet); opacity: 1; }
button { font: inherit; font-size: 13px; font-weight: 600; color: var(--accent); background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 5px 12px; min-height: 36px; cursor: pointer; }
button:hover { border-color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;
