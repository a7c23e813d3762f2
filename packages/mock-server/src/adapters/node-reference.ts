/**
 * The interactive API reference (spec 4.6): Swagger UI, with the API key and the template of the
 * first request filled in.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { html } from "hono/html";
import type { Backend } from "../backend/backend.ts";
import { getNewestKeys } from "../domain/api-keys.ts";
import { type App, respond } from "../http/app.ts";
import type { Reply } from "../http/reply.ts";
import { fileReply, type Markup, page, pageReply } from "../pages/html.ts";
import { findFile } from "../pages/pages.ts";

/** The names that can be requested. Requests never name a path on the disk. */
const vendored = ["swagger-ui-bundle.js", "swagger-ui.css"];
const own = ["start.js", "reference.css"];

export function addReference(app: App, { domain, settings }: Backend): void {
  const templateId = settings.templates[0]?.id ?? "";
  app.get("/api/docs", (c) =>
    respond(c, pageReply(toPage(getNewestKeys(domain).website ?? "", templateId))),
  );
  for (const name of own)
    app.get(`/api/docs/${name}`, async (c) => respond(c, await findFile(`reference/${name}`)));
  for (const name of vendored)
    app.get(`/api/docs/${name}`, async (c) => respond(c, await readVendored(name)));
}

const toPage = (apiKey: string, templateId: string): Markup =>
  page(
    "API reference",
    "../",
    html`<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" type="module"></script>`,
    html`<nav class="to-console" aria-label="Console"><a href="../console">← Back to the console</a></nav>
<div id="reference" data-api-key="${apiKey}" data-template-id="${templateId}"></div>`,
  );

/**
 * Reads a file of Swagger UI. The build has it compressed, because every browser accepts gzip; the
 * sources read it from the npm package.
 */
async function readVendored(name: string): Promise<Reply> {
  const here = dirname(fileURLToPath(import.meta.url));
  if (here.endsWith(join("src", "adapters"))) {
    const origin = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return fileReply(name, await readFile(join(origin, name)));
  }
  const reply = fileReply(name, await readFile(join(here, "reference", `${name}.gz`)));
  return { ...reply, headers: { ...reply.headers, "content-encoding": "gzip" } };
}
