/** The files of the console: complete, safe, and only for host names of this machine. */
import { expect, it } from "vitest";
import { createMockService } from "../../src/index.ts";

const service = createMockService();
const request = (path: string, headers = {}) =>
  service.fetch(new Request(service.baseUrl + path, { headers, redirect: "manual" }));

it("serves every file that its page and its modules name", async () => {
  const page = await (await request("/console")).text();
  const wanted = [...page.matchAll(/(?:src|href)="(?!https:)([^"#]+)"/g)].map(([, path]) => `/${path}`);
  const seen = new Set<string>();
  while (wanted.length > 0) {
    const path = wanted.pop() ?? "";
    if (seen.has(path)) continue;
    seen.add(path);
    const response = await request(path);
    expect([path, response.status]).toEqual([path, 200]);
    if (!path.endsWith(".js")) continue;
    const imports = [...(await response.text()).matchAll(/ from "\.\/([\w-]+\.js)"/g)];
    wanted.push(...imports.map(([, name]) => `/console/${name}`));
  }
  expect(seen.size).toBeGreaterThan(15);
});

it("has no inline script or style, and a policy that forbids them", async () => {
  const response = await request("/console");
  expect(response.headers.get("content-security-policy")).not.toMatch(/unsafe|https?:|\*/);
  expect(await response.text()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
});

it("does not parse text as HTML", async () => {
  const modules = [
    ...(await (await request("/console/main.js")).text()).matchAll(/from "\.\/([\w-]+\.js)"/g),
  ];
  for (const name of ["main.js", ...modules.map(([, name]) => name)]) {
    expect(await (await request(`/console/${name}`)).text()).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function/,
    );
  }
});

it("responds to host names of this machine only", async () => {
  expect((await request("/console", { host: "localhost:4010" })).status).toBe(200);
  for (const path of ["/console", "/console/main.js"]) {
    expect((await request(path, { host: "rebound.test" })).status).toBe(403);
  }
});

it("redirects from a slash at the end", async () => {
  const slash = await request("/console/");
  expect([slash.status, slash.headers.get("location")]).toEqual([308, "../console"]);
});
