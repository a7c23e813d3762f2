/** Responses with pages and their files. Their content security policy allows files of this server only. */
import type { ServiceResponse } from "../http/response.ts";
import type { Markup } from "./html.ts";

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

export function pageResponse(page: Markup, status = 200): ServiceResponse {
  return {
    status,
    body: `<!doctype html>\n${page}\n`,
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
