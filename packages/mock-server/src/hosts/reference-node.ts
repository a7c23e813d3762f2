/** Serves the interactive reference from files: they are too large for services that nobody looks at. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { type Answer, answerOf, type Reply } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";
import { fileReply, pageReply } from "../pages/page-reply.ts";
import { referencePage } from "../pages/reference-page.ts";
import type { MockService } from "../service.ts";

/** The only files there are: what a request asks for is a name in this list, never a path. */
const vendored = ["swagger-ui-bundle.js", "swagger-ui.css"];
const own = ["start.js", "reference.css"];

/** Undefined for what is not the reference's. */
export async function referenceAt(request: HttpRequest, service: MockService): Promise<Answer | undefined> {
  const { pathname } = request.url;
  if (request.method !== "GET" || !pathname.startsWith("/api/docs")) return undefined;
  if (pathname === "/api/docs") {
    const { apiKeys, templateId } = service;
    return answerOf(pageReply(referencePage({ apiKey: apiKeys.website, templateId })));
  }
  const name = pathname.slice("/api/docs/".length);
  if (own.includes(name)) {
    const { staticFiles } = await import("../pages/static-files.ts"); // when somebody looks
    return answerOf(fileReply(name, staticFiles.get(`reference/${name}`) ?? ""));
  }
  if (vendored.includes(name)) return answerOf(await vendoredReply(name, request));
  return undefined;
}

/** Compressed beside the built module; or, where nothing is built yet, in the package that it comes from. */
async function vendoredReply(name: string, { headers }: HttpRequest): Promise<Reply> {
  const here = dirname(fileURLToPath(import.meta.url));
  if (here.endsWith(join("src", "hosts"))) {
    const origin = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return fileReply(name, await readFile(join(origin, name)));
  }
  const compressed = await readFile(join(here, "reference", `${name}.gz`));
  if (!/\bgzip\b/.test(headers.get("accept-encoding") ?? "")) return fileReply(name, gunzipSync(compressed));
  const reply = fileReply(name, compressed);
  return { ...reply, headers: { ...reply.headers, "content-encoding": "gzip" } };
}
