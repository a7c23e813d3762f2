/** The console's files: plain, complete, and only for this machine. */
import { expect, it } from "vitest";
import { createMockService } from "../../src/index.ts";

const service = createMockService();
const ask = (path: string, headers = {}) =>
  service.fetch(new Request(service.baseUrl + path, { headers, redirect: "manual" }));

it("has every file that its page and its modules name", async () => {
  const page = await (await ask("/console")).text();
  const wanted = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path]) => `/${path}`);
  const seen = new Set<string>();
  while (wanted.length > 0) {
    const path = wanted.pop() ?? "";
    if (seen.has(path)) continue;
    seen.add(path);
    const response = await ask(path);
    expect([path, response.status]).toEqual([path, 200]);
    if (!path.endsWith(".js")) continue;
    const imports = [...(await response.text()).matchAll(/ from "\.\/([\w-]+\.js)"/g)];
    wanted.push(...imports.map(([, name]) => `/console/${name}`));
  }
  expect(seen.size).toBeGreaterThan(15);
});

it("has no script or style in its page, and a policy that allows none", async () => {
  const response = await ask("/console");
  expect(response.headers.get("content-security-policy")).not.toMatch(/unsafe|https?:|\*/);
  expect(await response.text()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
});

it("never lets text become HTML", async () => {
  const modules = [...(await (await ask("/console/main.js")).text()).matchAll(/from "\.\/([\w-]+\.js)"/g)];
  for (const name of ["main.js", ...modules.map(([, name]) => name)]) {
    expect(await (await ask(`/console/${name}`)).text()).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function/,
    );
  }
});

it("answers to names of this machine only", async () => {
  expect((await ask("/console", { host: "localhost:4010" })).status).toBe(200);
  for (const path of ["/console", "/console/main.js"]) {
    expect((await ask(path, { host: "rebound.test" })).status).toBe(403);
  }
});

it("is where a browser gets to that only knows the address", async () => {
  const response = await ask("/", { accept: "text/html,*/*" });
  expect([response.status, response.headers.get("location")]).toEqual([303, "console"]);
  const other = await ask("/", { accept: "application/json" });
  expect([other.status, await other.text()]).toEqual([404, expect.stringContaining("/console")]);
});
