/** The diagrams in a browser: no text covers another one, or leaves the picture. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, it } from "vitest";
import { openBrowser } from "../../../../compat/browser.mjs";

const folder = new URL("../../../../docs/diagrams/", import.meta.url);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".svg"),
);

let opened;
beforeAll(async () => {
  opened = await openBrowser();
});
afterAll(() => opened?.close());

/** Runs in the page: compares the boxes of all texts. */
function findOverlaps() {
  const texts = [...document.querySelectorAll("text")]
    .filter(({ textContent }) => textContent.trim() !== "")
    .map((element) => ({ words: element.textContent, box: element.getBBox() }));
  const { width, height } = document.documentElement.viewBox.baseVal;
  const tolerance = 1; // a box is higher than the letters in it
  const overlap = (a, b, start, size) =>
    Math.min(a[start] + a[size], b[start] + b[size]) - Math.max(a[start], b[start]);
  const problems = texts
    .filter(({ box }) => box.x < 0 || box.y < 0 || box.x + box.width > width || box.y + box.height > height)
    .map(({ words }) => `${words} leaves the picture`);
  for (const [index, one] of texts.entries()) {
    for (const other of texts.slice(index + 1)) {
      const isCovered =
        overlap(one.box, other.box, "x", "width") > tolerance &&
        overlap(one.box, other.box, "y", "height") > tolerance;
      if (isCovered) problems.push(`${one.words} | ${other.words}`);
    }
  }
  return problems;
}

it.each(files)("%s has no texts that overlap", async (file) => {
  const page = await opened.browser.newPage();
  await page.goto(new URL(file, folder).href);
  assert.deepEqual(await page.evaluate(findOverlaps), []);
  await page.close();
});
