/** The check of the built site reports broken links, external resources, and schemas that are not at their address. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { checkSchemas, checkSite } from "../site.ts";

function createSite(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "assets"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

it("reports no problem in a correct site", () => {
  const site = createSite({
    "index.html": '<a href="/loyalty-cards/b#here">b</a><a href="https://example.com">c</a>',
    "b.html":
      '<h2 id="here">here</h2><a href="#here">up</a><a href="./">a</a><img alt="" src="assets/d.svg">',
    "assets/d.svg": "<svg/>",
  });
  expect(checkSite(site)).toEqual({ problems: [], pages: 2, links: 5 });
});

it.each([
  ["a link to a missing page", '<a href="/loyalty-cards/gone">x</a>', /gone, which does not exist/],
  [
    "a link outside of the path of the site",
    '<a href="/guides/sign-up">x</a>',
    /sign-up, which does not exist/,
  ],
  ["a link to a missing anchor", '<a href="#gone">x</a>', /#gone, an anchor that does not exist/],
  [
    "a link to a file outside of the site",
    '<a href="../secret.html">x</a>',
    /secret\.html, which does not exist/,
  ],
  [
    "a script of another origin",
    '<script src="https://cdn.example.com/x.js"></script>',
    /from another origin/,
  ],
  [
    "an image of another origin, without a protocol",
    '<img alt="" src="//cdn.example.com/x.png">',
    /from another origin/,
  ],
])("reports %s", (_name, page, problem) => {
  expect(checkSite(createSite({ "a.html": page })).problems).toEqual([expect.stringMatching(problem)]);
});

it("reports a font of another origin", () => {
  const site = createSite({ "assets/a.css": "@import url(https://fonts.example.com/x.css);" });
  expect(checkSite(site).problems).toEqual([
    "assets/a.css loads https://fonts.example.com/x.css from another origin",
  ]);
});

it("accepts a schema at the address of its $id, and reports a missing, a different and a foreign one", () => {
  const schema = (path: string) =>
    JSON.stringify({ $id: `https://loyalty-cards.github.io/loyalty-cards/${path}` });
  const site = createSite({ "ping.json": schema("ping.json"), "old.json": "{}" });
  const schemas = createSite({
    "ping.json": schema("ping.json"),
    "gone.json": schema("gone.json"),
    "old.json": schema("old.json"),
    "foreign.json": JSON.stringify({ $id: "https://example.com/ping.json" }),
    "nameless.json": "{}",
  });
  rmSync(join(schemas, "assets"), { recursive: true });
  expect(checkSchemas(site, schemas)).toEqual(
    ["foreign", "gone", "nameless", "old"].map((name) => expect.stringMatching(`^${name}.json has the `)),
  );
});
