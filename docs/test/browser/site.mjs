/** Serves the built site as a static host does: below its path, and without extensions. */
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../../.vitepress/dist", import.meta.url));
const base = "/loyalty-cards/";
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

export async function serveSite() {
  if (!existsSync(dist)) throw new Error("The site is not built: run `npm run docs`.");
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const path = pathname.startsWith(base) ? pathname.slice(base.length) : "404";
    const file = [path, `${path}.html`, join(path, "index.html")]
      .map((name) => join(dist, name))
      .find((name) => existsSync(name) && statSync(name).isFile());
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": types[extname(file ?? "")] ?? "text/plain",
    });
    response.end(file === undefined ? "" : readFileSync(file));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    url: (page) => `${origin}${base}${page}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
