/** Pages on a port: the address itself, which readiness probes request, and the API reference, of which there is a notice in process. */
import { get } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { startMockServer } from "../../src/adapters/node.ts";
import { createMockService } from "../../src/index.ts";

async function served() {
  const server = await startMockServer();
  onTestFinished(() => server.close());
  return server;
}

/** The path as it is written, which fetch would tidy first. */
const getStatus = (url: string, path: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    get({ hostname, port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", reject);
  });

it("responds 200 to GET and HEAD of its address, as readiness probes send them", async () => {
  const { url } = await served();
  const statuses = ["GET", "HEAD"].map(async (method) => (await fetch(url, { method })).status);
  expect(await Promise.all(statuses)).toEqual([200, 200]);
});

it("serves a page with the seeded key, and the files that it needs", async () => {
  const { url, service } = await served();
  const page = await fetch(`${url}/api/docs`);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).toContain(`data-api-key="${service.apiKeys.website}"`);
  const files = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, file]) => file);
  expect(files).toHaveLength(4);
  for (const file of files) {
    const response = await fetch(`${url}/api/${file}`);
    const mediaType = file?.endsWith(".css") ? "text/css" : "text/javascript";
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      `${mediaType}; charset=utf-8`,
    ]);
    expect((await response.text()).length).toBeGreaterThan(100);
  }
});

it.each([
  "/api/docs/../../package.json",
  "/api/docs/..%2f..%2fpackage.json",
  "/api/docs/%2e%2e/%2e%2e/package.json",
  "/api/docs/..\\..\\package.json",
  "/api/docs//etc/passwd",
  "/api/docs/package.json",
  "/api/docs/swagger-ui-bundle.js%00.css",
  "/console/..%2freference%2fstart.js",
  "/console/__proto__",
])("has no file at %s", async (path) => {
  const { url } = await served();
  expect(await getStatus(url, path)).toBe(404);
});

it("says how to start it on a port when it runs in process", async () => {
  const { baseUrl, fetch } = createMockService();
  const page = await (await fetch(new Request(`${baseUrl}/api/docs`))).text();
  expect(page).toContain("npx @loyalty-cards/mock-server");
  expect((await fetch(new Request(`${baseUrl}/api/docs/swagger-ui-bundle.js`))).status).toBe(404);
});
