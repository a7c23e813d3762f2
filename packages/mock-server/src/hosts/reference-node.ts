/** Serves the interactive reference from files: they are too large for services that nobody looks at. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileResponse, pageResponse } from "../pages/page-response.ts";
import { referencePage } from "../pages/reference-page.ts";
import { staticFiles } from "../pages/static-files.ts";

/** The only files there are: what a request asks for is a name in this list, never a path. */
const vendored = ["swagger-ui-bundle.js", "swagger-ui.css"];
const own = ["start.js", "reference.css"];

/** @param path below the base URL. Undefined for what is not the reference's. */
export async function referenceAt(path: string, apiKey: string): Promise<Response | undefined> {
  if (path === "/api/docs") return pageResponse(referencePage(apiKey));
  const name = path.startsWith("/api/docs/") ? path.slice("/api/docs/".length) : "";
  if (own.includes(name)) return fileResponse(name, staticFiles.get(`reference/${name}`) ?? "");
  if (vendored.includes(name)) return fileResponse(name, await readFile(join(folder(), name)));
  return undefined;
}

/** Beside the built module; or, where nothing is built yet, in the package that they are copied from. */
function folder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  if (!here.endsWith("src/hosts")) return join(here, "reference");
  return dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
}
