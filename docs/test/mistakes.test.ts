/** Each message of the page of common mistakes is what the packages print when the mistake is made. */
import { expect, it } from "vitest";
import { mistakes, withMessages } from "../mistakes.ts";
import { readFromRoot } from "../snippets.ts";

const page = readFromRoot("docs/guides/common-mistakes.md");

it.each(Object.keys(mistakes))("prints the message that the page has for %s", async (name) => {
  const printed = new RegExp(`<!-- message: ${name} -->\\n\`\`\`log\\n([\\s\\S]*?)\\n\`\`\``).exec(page)?.[1];
  expect(await mistakes[name]?.(), "npm run mistakes brings the page up to date").toBe(printed);
});

it("has a place in the page for each mistake", async () => {
  expect(await withMessages(page)).toBe(page);
  const without = page.replace("<!-- message: clock-off -->", "");
  await expect(withMessages(without)).rejects.toThrow("has other mistakes than docs/mistakes.ts");
});
