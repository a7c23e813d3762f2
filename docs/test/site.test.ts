/** The reader of the built site notices what is broken in one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { faultsOf } from "../site.ts";

function siteOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "assets"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

it("a whole site has no faults", () => {
  const site = siteOf({
    "a.html": '<a href="b.html#here">b</a><a href="https://example.com">c</a><img alt="" src="assets/d.svg">',
    "b.html": '<h2 id="here">here</h2><a href="#here">up</a>',
    "assets/d.svg": "<svg/>",
  });
  expect(faultsOf(site)).toEqual({ faults: [], pages: 2, links: 4 });
});

it.each([
  ["a page that is gone", '<a href="gone.html">x</a>', /gone\.html, which is not there/],
  ["a place that is gone", '<a href="#gone">x</a>', /#gone, where nothing has that name/],
  ["a way out of the site", '<a href="../secret.html">x</a>', /secret\.html, which is not there/],
  ["a script from elsewhere", '<script src="https://cdn.example.com/x.js"></script>', /from elsewhere/],
  ["a picture without a protocol", '<img alt="" src="//cdn.example.com/x.png">', /from elsewhere/],
])("%s is found", (_name, page, fault) => {
  expect(faultsOf(siteOf({ "a.html": page })).faults).toEqual([expect.stringMatching(fault)]);
});

it("a font from elsewhere is found", () => {
  const site = siteOf({ "assets/a.css": "@import url(https://fonts.example.com/x.css);" });
  expect(faultsOf(site).faults).toEqual([
    "assets/a.css loads https://fonts.example.com/x.css from elsewhere",
  ]);
});
