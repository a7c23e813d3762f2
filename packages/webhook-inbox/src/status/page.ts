/** The status page, independent of the framework: authorization, replay, and the HTML. All text of events and errors is escaped. */
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { escapeHtml, formatDuration } from "@loyalty-cards/internal/format";
import type { InboxEntry, InboxHealth, InspectableInbox } from "../reports.ts";

/** Who may use the page, and its title. @inline */
export interface StatusPageOptions<Request> {
  /**
   * Decides who may view the page and replay. `"external"`: a middleware before this handler has authorized the request. Without
   * it everyone may view the page, replay is off, and a log line and the page say so.
   */
  authorize?: ((request: Request) => boolean | Promise<boolean>) | "external";
  /** Default "Webhook inbox". */
  title?: string;
  /** Default `console.error`. */
  log?: (message: string) => void;
}

export interface StatusRequest<Request> {
  method: string;
  /** The query of the URL. A function, because a malformed request can make it throw: called only for an authorized request. */
  query(): URLSearchParams;
  header(lowerCaseName: string): string | undefined;
  /** The body of a POST: its chunks, or what a parser made of them. */
  body(): AsyncIterable<Uint8Array> | Record<string, unknown>;
  /** The argument of `authorize`. */
  original: Request;
}

export interface StatusResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

const maxFormBytes = 16 * 1024;

const maxEntries = 50;

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

export function createStatusHandler<Request>(
  inbox: InspectableInbox,
  options: StatusPageOptions<Request> = {},
) {
  const { authorize, title = "Webhook inbox", log = console.error } = options;
  const hasAuthorization = authorize !== undefined;
  if (authorize !== undefined && authorize !== "external" && typeof authorize !== "function")
    throw new TypeError(
      'authorize must be a function that returns whether the request is allowed, or "external".',
    );
  if (!hasAuthorization) {
    log(
      "webhook-inbox: the status page is mounted without authorization, so everyone who knows its URL can view it. " +
        'Set { authorize }, or { authorize: "external" } if a middleware before it authorizes requests.',
    );
  }

  async function respond(request: StatusRequest<Request>): Promise<StatusResponse> {
    const isAllowed = typeof authorize !== "function" || (await authorize(request.original)) === true;
    if (!isAllowed) return text(403, "You are not allowed to view this page.");
    if (request.method === "GET" || request.method === "HEAD") return page(request.query().has("replayed"));
    if (request.method === "POST") return replay(request);
    return {
      ...text(405, "This page accepts GET and POST."),
      headers: { ...plain, allow: "GET, HEAD, POST" },
    };
  }

  async function page(isReplayed: boolean): Promise<StatusResponse> {
    const health = await inbox.health();
    const list = async (state: "dead" | "waiting") =>
      health.isReachable ? inbox.list({ state, limit: maxEntries }) : [];
    const [dead, waiting] = await Promise.all([list("dead"), list("waiting")]);
    const content = {
      title,
      now: new Date(),
      health,
      dead,
      waiting: waiting.slice(0, 10),
      hasAuthorization,
      isReplayed,
    };
    const headers = { ...securityHeaders, "content-type": "text/html; charset=utf-8" };
    return { status: health.isReachable ? 200 : 503, headers, body: renderPage(content) };
  }

  async function replay(request: StatusRequest<Request>): Promise<StatusResponse> {
    if (!hasAuthorization) return text(403, "Replay is off because this page has no authorization.");
    if (!isSameOrigin(request)) return text(403, "This form was sent by another site.");
    const id = await readId(request.body());
    if (id === undefined) return text(400, "The form has no id.");
    if (!(await inbox.replay(id)))
      return text(404, "This event is not a dead letter. It may have been replayed already.");
    return { status: 303, headers: { ...plain, location: "?replayed" }, body: "" };
  }

  return async (request: StatusRequest<Request>): Promise<StatusResponse> => {
    try {
      return await respond(request);
    } catch {
      return text(503, "The inbox or the authorization of this page failed."); // the error may contain internal details
    }
  };
}

async function readId(body: ReturnType<StatusRequest<unknown>["body"]>): Promise<string | undefined> {
  if (!isIterable(body)) return typeof body["id"] === "string" ? body["id"] : undefined;
  const bytes = await readBounded(body, maxFormBytes);
  return new URLSearchParams(new TextDecoder().decode(bytes)).get("id") ?? undefined;
}

const isIterable = (body: object): body is AsyncIterable<Uint8Array> => Symbol.asyncIterator in body;

const plain = { ...securityHeaders, "content-type": "text/plain; charset=utf-8" };
const text = (status: number, body: string): StatusResponse => ({ status, headers: plain, body });

/** Prevents cross-site request forgery: a browser sends the origin of a form. */
function isSameOrigin({ header }: Pick<StatusRequest<unknown>, "header">): boolean {
  const site = header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = header("origin");
  if (origin === undefined) return true; // not a browser
  return URL.canParse(origin) && new URL(origin).host === header("host");
}

interface PageContent {
  title: string;
  now: Date;
  health: InboxHealth;
  dead: readonly InboxEntry[];
  waiting: readonly InboxEntry[];
  /** False: replay is off, and the page says so. */
  hasAuthorization: boolean;
  /** The page is the response to a replay. No text of the URL is shown: anyone can create a link with any text. */
  isReplayed: boolean;
}

function renderPage({
  title,
  now,
  health,
  dead,
  waiting,
  hasAuthorization,
  isReplayed,
}: PageContent): string {
  const ago = (date: Date) => formatDuration(Math.max(0, now.getTime() - date.getTime()));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)}</h1>
<p>as of <time datetime="${now.toISOString()}">${now.toISOString().slice(0, 19).replace("T", " ")} UTC</time></p>
</header>
<main>
${hasAuthorization ? "" : note("warning", "This page has no authorization: everyone who knows its URL can view it. Replay is off until it is mounted with <code>authorize</code>.")}
${health.isReachable ? "" : note("alarm", `The inbox cannot be reached: ${escapeHtml(health.error ?? "unknown")}.`)}
${isReplayed ? note("notice", "The dead letter has all of its attempts again and waits for its handler.") : ""}
<section class="figures" aria-label="Figures">
${figure("waiting", String(health.waiting), health.isReachable)}
${figure("oldest", health.oldestWaitingMs === undefined ? "–" : formatDuration(health.oldestWaitingMs), health.isReachable)}
${figure("dead letters", String(health.dead), health.isReachable, health.dead > 0)}
</section>
<section>
<h2>Dead letters</h2>
${dead.length === 0 ? '<p class="none">None.</p>' : deadTable(dead, ago, hasAuthorization)}
${dead.length < health.dead ? `<p class="none">The oldest ${dead.length} of ${health.dead}.</p>` : ""}
</section>
<section>
<h2>Waiting longest</h2>
${waiting.length === 0 ? '<p class="none">No events are waiting.</p>' : waitingTable(waiting, ago)}
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

function deadTable(entries: readonly InboxEntry[], ago: Ago, hasAuthorization: boolean): string {
  const rows = entries.map((entry) => {
    const button = hasAuthorization
      ? `<form method="post"><input type="hidden" name="id" value="${escapeHtml(entry.id)}"><button>Replay</button></form>`
      : "";
    const failure = `<td class="failure">${escapeHtml(entry.lastFailure ?? "")}</td>`;
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
  return `<td><code>${escapeHtml(id)}</code></td><td>${escapeHtml(type)}</td><td><time datetime="${iso}" title="${iso}">${ago(receivedAt)} ago</time></td>`;
}

const table = (heads: readonly string[], rows: readonly string[]) =>
  `<div class="table"><table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></div>`;

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
