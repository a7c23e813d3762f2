/** The frame of a page, and replies with pages and their files. */
import { html } from "hono/html";
import type { Reply } from "../http/reply.ts";

/** Escaped by `html` of Hono. Write quotes around attributes in a template: `href="${address}"`. */
export type Markup = ReturnType<typeof html>;

interface Page {
  title: string;
  /** The relative path from the page to the service, for example `../`. */
  up: string;
  head: Markup;
  content: Markup;
}

/** A whole page. */
export const page = ({ title, up, head, content }: Page): Markup => html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${up}assets/icon.svg">
<link rel="stylesheet" href="${up}assets/colors.css">
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

export const pageReply = (content: Markup, status = 200): Reply => ({
  ...fileReply("page.html", `<!doctype html>\n${content}\n`, "no-store"),
  status,
});

/** @param name its extension selects the media type. */
export const fileReply = (
  name: string,
  body: string | Uint8Array,
  cacheControl = "no-cache",
): Reply => ({
  status: 200,
  body,
  headers: {
    ...securityHeaders,
    "content-type": mediaTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
    "cache-control": cacheControl,
  },
});
