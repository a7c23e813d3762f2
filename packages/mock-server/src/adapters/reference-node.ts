/** Serves the interactive API reference from files, which are too large to be part of the service. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { ServiceRequest } from "../http/request.ts";
import type { ServiceResponse } from "../http/response.ts";
import { fileResponse, pageResponse } from "../pages/html.ts";
import { referencePage } from "../pages/reference-page.ts";
import type { MockService } from "../service.ts";

/** The names that can be requested. Requests never name a path on the disk. */
const vendored = ["swagger-ui-bundle.js", "swagger-ui.css"];
const own = ["start.js", "reference.css"];

/** Undefined for every other path. */
export function findReferenceResponse(
  request: ServiceRequest,
  service: MockService,
): ServiceResponse | Promise<ServiceResponse> | undefined {
  const { pathname } = request.url;
  if (request.method !== "GET" || !pathname.startsWith("/api/docs")) return undefined;
  if (pathname === "/api/docs") {
    const { apiKeys, templateId } = service;
    return pageResponse(referencePage({ apiKey: apiKeys.website, templateId }));
  }
  const name = pathname.slice("/api/docs/".length);
  if (own.includes(name)) return ownResponse(name);
  if (vendored.includes(name)) return vendoredResponse(name, request);
  return undefined;
}

async function ownResponse(name: string): Promise<ServiceResponse> {
  const { staticFiles } = await import("../pages/node-static-files.ts"); // on the first request
  return fileResponse(name, staticFiles.get(`reference/${name}`) ?? "");
}

/** Compressed in the build; in the sources, from the npm package of Swagger UI. */
async function vendoredResponse(name: string, { headers }: ServiceRequest): Promise<ServiceResponse> {
  const here = dirname(fileURLToPath(import.meta.url));
  if (here.endsWith(join("src", "adapters"))) {
    const origin = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return fileResponse(name, await readFile(join(origin, name)));
  }
  const compressed = await readFile(join(here, "reference", `${name}.gz`));
  if (!/\bgzip\b/.test(headers.get("accept-encoding") ?? ""))
    return fileResponse(name, gunzipSync(compressed));
  const response = fileResponse(name, compressed);
  return { ...response, headers: { ...response.headers, "content-encoding": "gzip" } };
}
