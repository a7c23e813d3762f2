/** The status page as HTML. Every word that came from outside is escaped. */
import type { InboxEntry, InboxHealth } from "../health.ts";

export interface PageFacts {
  title: string;
  now: Date;
  health: InboxHealth;
  dead: readonly InboxEntry[];
  waiting: readonly InboxEntry[];
  /** Nobody checks who looks: replay is off, and the page says so. */
  isGuarded: boolean;
  /** What the last click did. */
  notice?: string;
}

export function pageOf({ title, now, health, dead, waiting, isGuarded, notice }: PageFacts): string {
  const ago = (date: Date) => duration(now.getTime() - date.getTime());
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
<p>as of <time datetime="${now.toISOString()}">${now.toISOString().slice(0, 19).replace("T", " ")} UTC</time></p>
</header>
<main>
${isGuarded ? "" : note("warning", "This page has no guard: whoever knows its address sees it. Replay is off until it is mounted with <code>authorize</code>.")}
${health.isReachable ? "" : note("alarm", `The inbox cannot be reached: ${escaped(health.fault ?? "unknown")}.`)}
${notice === undefined ? "" : note("notice", escaped(notice))}
<section class="figures" aria-label="Figures">
${figure("waiting", String(health.waiting), health.isReachable)}
${figure("oldest", health.oldestWaitingMs === undefined ? "–" : duration(health.oldestWaitingMs), health.isReachable)}
${figure("dead letters", String(health.dead), health.isReachable, health.dead > 0)}
</section>
<section>
<h2>Dead letters</h2>
${dead.length === 0 ? '<p class="none">None.</p>' : deadTable(dead, ago, isGuarded)}
${dead.length < health.dead ? `<p class="none">The oldest ${dead.length} of ${health.dead}.</p>` : ""}
</section>
<section>
<h2>Waiting longest</h2>
${waiting.length === 0 ? '<p class="none">Nothing waits.</p>' : waitingTable(waiting, ago)}
</section>
</main>
</body>
</html>
`;
}

type Ago = (date: Date) => string;

const note = (kind: string, html: string) => `<p class="note ${kind}" role="status">${html}</p>`;

const figure = (name: string, value: string, isKnown: boolean, isAlarming = false) =>
  `<div class="figure${isAlarming ? " alarming" : ""}"><strong>${isKnown ? value : "?"}</strong><span>${name}</span></div>`;

function deadTable(entries: readonly InboxEntry[], ago: Ago, isGuarded: boolean): string {
  const rows = entries.map((entry) => {
    const button = isGuarded
      ? `<form method="post"><input type="hidden" name="id" value="${escaped(entry.id)}"><button>Replay</button></form>`
      : "";
    const failure = `<td class="failure">${escaped(entry.lastFailure ?? "")}</td>`;
    return `<tr>${eventCells(entry, ago)}<td class="number">${entry.attempts}</td>${failure}<td>${button}</td></tr>`;
  });
  return table(["Event", "Type", "Received", "Attempts", "Last failure", ""], rows);
}

function waitingTable(entries: readonly InboxEntry[], ago: Ago): string {
  const rows = entries.map(
    (entry) => `<tr>${eventCells(entry, ago)}<td class="number">${entry.attempts}</td></tr>`,
  );
  return table(["Event", "Type", "Received", "Attempts"], rows);
}

function eventCells({ id, type, receivedAt }: InboxEntry, ago: Ago): string {
  const iso = receivedAt.toISOString();
  return `<td><code>${escaped(id)}</code></td><td>${escaped(type)}</td><td><time datetime="${iso}" title="${iso}">${ago(receivedAt)} ago</time></td>`;
}

const table = (heads: readonly string[], rows: readonly string[]) =>
  `<div class="table"><table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></div>`;

/** The two largest units. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

const style = `
:root { color-scheme: light dark; --ink: #1c2330; --quiet: #667085; --paper: #f6f7f9; --card: #fff; --line: #e3e6eb;
  --accent: #2457d6; --alarm: #b42318; --alarm-paper: #fef3f2; --warning: #93370d; --warning-paper: #fffaeb;
  --notice: #05603a; --notice-paper: #ecfdf3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --quiet: #98a2b3; --paper: #101318; --card: #181c23;
  --line: #2a303a; --accent: #84a9ff; --alarm: #fda29b; --alarm-paper: #36140f; --warning: #fec84b;
  --warning-paper: #332409; --notice: #6ce9a6; --notice-paper: #0b2a1c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main { max-width: 1040px; margin: 0 auto; padding: 0 24px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 24px; padding-top: 32px; }
h1 { font-size: 24px; letter-spacing: -.01em; margin: 0; }
h2 { font-size: 16px; margin: 32px 0 12px; }
header p, .none { color: var(--quiet); margin: 0; }
.note { padding: 12px 16px; border-radius: 10px; margin: 20px 0 0; }
.warning { background: var(--warning-paper); color: var(--warning); }
.alarm { background: var(--alarm-paper); color: var(--alarm); }
.notice { background: var(--notice-paper); color: var(--notice); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 16px; margin-top: 24px; }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 18px 20px; }
.figure strong { display: block; font-size: 32px; line-height: 1.15; font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -.02em; }
.figure span { color: var(--quiet); }
.alarming strong { color: var(--alarm); }
.table { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 14px; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: 11px 16px; white-space: nowrap; }
th { font-size: 13px; font-weight: 550; color: var(--quiet); }
td { border-top: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td.failure { white-space: normal; overflow-wrap: anywhere; color: var(--quiet); font-size: 13px; min-width: 220px; }
code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
form { margin: 0; }
button { font: inherit; font-size: 13px; font-weight: 600; color: var(--accent); background: transparent; border: 1px solid var(--line); border-radius: 8px; padding: 4px 12px; cursor: pointer; }
button:hover { border-color: var(--accent); }
main { padding-bottom: 48px; }
`;
