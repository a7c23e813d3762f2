/** Every published package says in its package.json what npm, bundlers and people look for. */
import { describe, expect, it } from "vitest";
import { manifestFaults } from "../manifest.ts";
import { type Manifest, published } from "../published.ts";

it("finds the packages", () => {
  expect(published.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["issuing-client", "mock-server", "webhook-inbox", "webhook-verify"]),
  );
});

it.each(published)("$name's manifest is complete", (one) => {
  expect(manifestFaults(one)).toEqual([]);
});

describe("what is missing is named:", () => {
  const [one] = published;
  if (one === undefined) throw new Error("nothing is published");
  const entry = { import: { types: "./dist/a.d.ts" }, require: { types: "./dist/a.d.cts" } };

  it.each([
    ["a name of another folder", { name: "@loyalty-cards/other" }, /is called @loyalty-cards\/other/],
    ["a description", { description: "" }, /`description`/],
    ["keywords", { keywords: ["a", "a", "a", "a", "a"] }, /`keywords`/],
    ["a homepage", { homepage: "https://example.com" }, /`homepage`/],
    ["bugs", { bugs: {} }, /`bugs.url`/],
    ["a licence", { license: "UNLICENSED" }, /`license`/],
    ["the repository's folder", { repository: { type: "git" } }, /`repository`/],
    ["the module type", { type: "commonjs" }, /`type`/],
    ["engines", { engines: {} }, /`engines.node`/],
    ["side effects", { sideEffects: true }, /`sideEffects`/],
    ["a file", { files: one.manifest.files?.filter((file) => file !== "LICENSE") }, /needs LICENSE/],
    ["a pattern", { files: [...(one.manifest.files ?? []), "test/**"] }, /not patterns/],
    ["public access", { publishConfig: { provenance: true } }, /`publishConfig.access`/],
    ["provenance", { publishConfig: { access: "public" } }, /`publishConfig.provenance`/],
    ["dependencies of the client", { dependencies: { "openapi-fetch": "0.17.0" } }, /no `dependencies`/],
    ["another main", { main: "./dist/index.js" }, /`main`/],
    ["no module", { module: undefined }, /`module`/],
    ["no types", { types: undefined }, /`types`/],
    [
      "a sub-path that node10 does not find",
      { exports: { ...one.manifest.exports, "./a": entry } },
      /needs a in/,
    ],
  ] as [string, Partial<Manifest>, RegExp][])("%s", (_what, change, sentence) => {
    const faults = manifestFaults({ name: one.name, manifest: { ...one.manifest, ...change } });
    expect(faults).toEqual([expect.stringMatching(sentence)]);
  });
});
