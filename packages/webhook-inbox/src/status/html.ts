/** The HTML of the status page. All text of events, errors and entries is escaped. */
import { escapeHtml, formatDuration } from "@loyalty-cards/internal/format";
import { script, style } from "./browser.ts";
import {
  formatNumber,
  maxShown,
  type StatusContent,
  type StatusGroup,
  type StatusItem,
  type StatusSection,
} from "./source.ts";

export interface PageContent {
  title: string;
  /** Allows the script of this page, and no others. */
  nonce: string;
  now: Date;
  content: StatusContent;
  /** False: the buttons are off, and the page says so. */
  hasAuthorization: boolean;
  /** What an action has done. */
  notice?: string | undefined;
  /** Why an action did nothing. */
  problem?: string | undefined;
}

export function renderPage(page: PageContent): string {
  const { title, nonce, now, content, hasAuthorization, notice, problem } = page;
  const { unreachable, figures, warnings, needsResume, sections } = content;
  const isReachable = unreachable === undefined;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)}</h1>
<p id="refresh"><a href="?">Refresh</a></p>
</header>
<main>
${hasAuthorization ? "" : renderNote("warning", "This page has no authorization: everyone who knows its URL can view it. The buttons are off until it is mounted with <code>authorize</code>.")}
${notice === undefined ? "" : renderNote("notice", escapeHtml(notice))}
${problem === undefined ? "" : renderNote("alarm", escapeHtml(problem))}
<div id="content">
<p class="quiet">as of <time datetime="${now.toISOString()}">${now.toISOString().slice(0, 19).replace("T", " ")} UTC</time></p>
${unreachable === undefined ? "" : renderNote("alarm", escapeHtml(unreachable))}
${warnings.map((warning) => renderNote("warning", escapeHtml(warning))).join("\n")}
${needsResume && hasAuthorization ? resumeForm : ""}
<section class="figures" aria-label="Figures">
${figures.map(({ name, value, isAlarming }) => `<div class="figure${isAlarming ? " alarming" : ""}"><strong>${isReachable ? value : "?"}</strong><span>${name}</span></div>`).join("\n")}
</section>
${sections.map((section) => renderSection(section, now, hasAuthorization)).join("\n")}
</div>
</main>
<script nonce="${nonce}">${script}</script>
</body>
</html>
`;
}

const renderNote = (kind: string, html: string) => `<p class="note ${kind}" role="status">${html}</p>`;

const resumeForm = `<form method="post" class="panel decision"><p>These tables are a copy, so cards that were issued after the copy was made are still waiting here. Resume only when nothing uses the original.</p>
<p><button name="resume" value="careful">Resume: cards may have been issued since</button>
<button name="resume" value="resend">Resume and send all: no card was issued since</button></p></form>`;

function renderSection(section: StatusSection, now: Date, hasAuthorization: boolean): string {
  const { title, state, empty, groups, total, hint } = section;
  const heading = `<h2>${title}</h2>`;
  if (groups.length === 0) return `<section>${heading}<p class="quiet">${empty}</p></section>`;
  const verb = hasAuthorization ? section.verb : undefined;
  const bar =
    verb === undefined
      ? ""
      : `<p class="bar"><button>${verb} selected</button> <button name="all" value="1">${verb} all</button></p>`;
  const body = groups
    .map((group, index) => renderGroup(section, group, `${state}-${index}`, now, hasAuthorization))
    .join("\n");
  const explained = hint === undefined ? "" : `<p class="quiet hint">${hint}</p>`;
  const read = groups.reduce((sum, { items }) => sum + items.length, 0);
  const rest = read < total ? `<p class="quiet hint">${formatRest(read, total, verb)}</p>` : "";
  const content =
    verb === undefined
      ? body
      : `<form method="post"><input type="hidden" name="state" value="${state}">${bar}${body}</form>`;
  return `<section>${heading}${explained}${rest}${content}</section>`;
}

const formatRest = (read: number, total: number, verb: string | undefined) =>
  `The oldest ${formatNumber(read)} of ${formatNumber(total)}.${verb === undefined ? "" : ` “${verb} all” and “${verb} this group” include the others.`}`;

function renderGroup(
  section: StatusSection,
  { name, items }: StatusGroup,
  id: string,
  now: Date,
  hasAuthorization: boolean,
): string {
  const { state, verb, isResolvable } = section;
  const button =
    verb === undefined || !hasAuthorization
      ? ""
      : `<button name="group" value="${escapeHtml(name)}" aria-describedby="${id}">${verb} this group</button>`;
  const heading =
    name === ""
      ? ""
      : `<div class="group"><h3 id="${id}"><code>${escapeHtml(name)}</code> <span class="count">${formatNumber(items.length)}</span></h3>${button}</div>`;
  const rows = items.slice(0, maxShown).map((item) => {
    const canSelect = verb !== undefined && hasAuthorization;
    const resolution = isResolvable && hasAuthorization ? renderResolution(state, item) : "";
    return `<li>${renderItem(section, item, canSelect, now)}${resolution}</li>`;
  });
  const hidden = items.length - rows.length;
  const more = hidden > 0 ? `<p class="quiet more">and ${formatNumber(hidden)} more</p>` : "";
  return `<div class="panel">${heading}<ul>${rows.join("\n")}</ul>${more}</div>`;
}

function renderItem(
  { state, columns, time }: StatusSection,
  { key, cells, at, attempts }: StatusItem,
  canSelect: boolean,
  now: Date,
): string {
  const [first = "", ...others] = cells.map(escapeHtml);
  const iso = at.toISOString();
  const ago = formatDuration(Math.max(0, now.getTime() - at.getTime()));
  const id = escapeHtml(`${state} ${key}`);
  const box = canSelect
    ? `<input type="checkbox" name="id" value="${escapeHtml(key)}" id="${id}" aria-label="Select ${first}">`
    : "";
  const label = canSelect ? `<label for="${id}"><code>${first}</code></label>` : `<code>${first}</code>`;
  return `<div class="item${canSelect ? " selectable" : ""}">${box}${label}${others.map((text, index) => `<span title="${columns[index + 1]}">${text}</span>`).join("")}<span class="quiet">${time} <time datetime="${iso}" title="${iso}">${ago} ago</time></span><span class="quiet">${attempts} ${attempts === 1 ? "attempt" : "attempts"}</span></div>`;
}

/** What a person found in the console of the service: a card, or none. */
function renderResolution(state: string, { key, cells }: StatusItem): string {
  const hidden = `<input type="hidden" name="state" value="${state}"><input type="hidden" name="id" value="${escapeHtml(key)}">`;
  const [id, user] = [escapeHtml(`card ${key}`), escapeHtml(cells[0] ?? "")];
  return `<div class="resolution"><form method="post">${hidden}<label for="${id}">There is a card</label><span class="entry"><input id="${id}" name="cardId" required maxlength="200" placeholder="id of the card" autocomplete="off" spellcheck="false"><button name="resolve" value="card" aria-label="Record the card of ${user}">Record the card</button></span></form>
<details id="${escapeHtml(`none ${key}`)}"><summary>There is no card</summary><form method="post">${hidden}<p>The form is sent again. If a card exists after all, the user gets a second one.</p><button name="resolve" value="none" aria-label="Send again for ${user}">Send again</button></form></details></div>`;
}
