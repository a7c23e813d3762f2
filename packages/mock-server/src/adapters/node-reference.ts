/**
 * The interactive API reference (spec 4.6): Swagger UI, with the API key, the template and the
 * newest card filled in.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Backend } from "../backend/backend.ts";
import { getNewestKeys } from "../domain/api-keys.ts";
import { getDefaultTemplate } from "../domain/templates.ts";
import { type App, respond } from "../http/app.ts";
import type { Reply } from "../http/reply.ts";
import { fileReply, pageReply } from "../pages/html.ts";
import { findFile } from "../pages/pages.ts";
import { referencePage } from "../pages/reference-page.ts";

/** The names that can be requested. Requests never name a path on the disk. */
const vendored = "swagger-ui-bundle.js";
const own = [
  "start.js",
  "parts.js",
  "typescript.js",
  "elements.js",
  "reference.css",
  "operations.css",
];

export function addReference(app: App, { domain }: Backend): void {
  app.get("/api/docs", async (context) => {
    const { default: openapi } = await import("@loyalty-cards/openapi/openapi.json", {
      with: { type: "json" },
    });
    const view = {
      baseUrl: domain.baseUrl,
      apiKey: getNewestKeys(domain).website ?? "",
      templateId: getDefaultTemplate(domain).id,
      cardId: [...domain.state.cards.keys()].at(-1) ?? "",
    };
    return respond(context, pageReply(referencePage(openapi, view)));
  });
  for (const name of own)
    app.get(`/api/docs/${name}`, async (context) =>
      respond(context, await findFile(`reference/${name}`)),
    );
  app.get(`/api/docs/${vendored}`, async (context) => respond(context, await readVendored()));
}

/**
 * Reads the script of Swagger UI. The build has it compressed, because every browser accepts gzip;
 * the sources read it from the npm package.
 */
async function readVendored(): Promise<Reply> {
  const here = dirname(fileURLToPath(import.meta.url));
  if (here.endsWith(join("src", "adapters"))) {
    const origin = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return fileReply(vendored, await readFile(join(origin, vendored)));
  }
  const reply = fileReply(vendored, await readFile(join(here, "reference", `${vendored}.gz`)));
  return { ...reply, headers: { ...reply.headers, "content-encoding": "gzip" } };
}
