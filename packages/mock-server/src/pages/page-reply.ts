/** Answers with a page or a file of a page, under a policy that lets it load nothing from anywhere else. */
import type { Reply } from "../http/reply.ts";
import type { Markup } from "./html.ts";

/** Nothing but this server's own files; scripts and styles only from files, never from the page's text. */
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

const safety: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin", // a card's address is the key to it
};

const mediaTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml; charset=utf-8",
};

export function pageReply(page: Markup, status = 200): Reply {
  return {
    status,
    content: `<!doctype html>\n${page}\n`,
    headers: { ...safety, "content-type": mediaTypes["html"] ?? "", "cache-control": "no-store" },
  };
}

/** @param name tells the media type by its ending. */
export function fileReply(name: string, content: string | Uint8Array): Reply {
  const mediaType = mediaTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  return {
    status: 200,
    content,
    headers: { ...safety, "content-type": mediaType, "cache-control": "no-cache" },
  };
}
