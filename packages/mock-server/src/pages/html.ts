/** HTML: template literals that escape each value, responses with pages and their files, and the page of the API reference (spec 4.6). */
import { escapeHtml } from "@loyalty-cards/internal/format";
import type { ServiceResponse } from "../http/messages.ts";

/** Markup of our own, which needs no escaping. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A value of the template literal; undefined and null are an empty string. */
type Piece = string | number | Markup | readonly Markup[] | undefined | null;

/** Write quotes around attributes in the template: `href="${address}"`. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(parts.reduce((text, part, index) => `${text}${written(pieces[index - 1])}${part}`));
}

function written(piece: Piece): string {
  if (piece === undefined || piece === null) return "";
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "string" || typeof piece === "number") return escapeHtml(String(piece));
  return piece.map(({ text }) => text).join("");
}

/**
 * A whole page.
 * @param up the relative path from the page to the service, for example `../`.
 */
export const page = (
  title: string,
  up: string,
  head: Markup,
  content: Markup,
): Markup => html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${up}assets/icon.svg">
${head}
</head>
<body>
${content}
</body>
</html>`;

/** Scripts and styles come from files of this server, never from the text of the page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin", // the address of a card gives access to it
};

const mediaTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml; charset=utf-8",
};

export function pageResponse(content: Markup, status = 200): ServiceResponse {
  return {
    status,
    body: `<!doctype html>\n${content}\n`,
    headers: { ...securityHeaders, "content-type": mediaTypes["html"] ?? "", "cache-control": "no-store" },
  };
}

/** @param name its extension selects the media type. */
export function fileResponse(name: string, content: string | Uint8Array): ServiceResponse {
  const mediaType = mediaTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  return {
    status: 200,
    body: content,
    headers: { ...securityHeaders, "content-type": mediaType, "cache-control": "no-cache" },
  };
}

/** Loads the files of Swagger UI, and fills in the API key and the template of the first request. */
export const referencePage = ({ apiKey, templateId }: { apiKey: string; templateId: string }): Markup =>
  document(
    html`<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" type="module"></script>`,
    html`<div id="reference" data-api-key="${apiKey}" data-template-id="${templateId}"></div>`,
  );

/** For services inside other programs, which do not serve the files of Swagger UI. */
export const referenceNoticePage = (): Markup =>
  document(
    html`<link rel="stylesheet" href="../assets/page.css">`,
    html`<main class="lost">
<h1>API reference</h1>
<p>The OpenAPI document is at <a href="docs/json"><code>/api/docs/json</code></a>.</p>
<p>This service runs inside another program and does not serve the interactive reference. Start the service on a port to try the API in a browser:</p>
<pre><code>npx @loyalty-cards/mock-server</code></pre>
</main>`,
  );

const document = (head: Markup, content: Markup): Markup =>
  page(
    "API reference",
    "../",
    head,
    html`<nav class="to-console" aria-label="Console"><a href="../console">← Back to the console</a></nav>
${content}`,
  );
