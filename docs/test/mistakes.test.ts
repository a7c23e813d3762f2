/** Each message in the page of common mistakes is the one that the packages print. */
import { expect, it } from "vitest";
import { mistakes, updateMessages } from "../mistakes.ts";
import { readFromRoot } from "../snippets.ts";

const page = readFromRoot("docs/guides/common-mistakes.md");

it.each(Object.keys(mistakes))("prints the message that the page quotes for %s", async (name) => {
  const printed = new RegExp(`<!-- message: ${name} -->\\n\`\`\`log\\n([\\s\\S]*?)\\n\`\`\``).exec(page)?.[1];
  expect(await mistakes[name]?.(), "npm run mistakes brings the page up to date").toBe(printed);
});

it("the page quotes each mistake", async () => {
  expect(await updateMessages(page)).toBe(page);
  const without = page.replace("<!-- message: clock-off -->", "");
  await expect(updateMessages(without)).rejects.toThrow("do not name the same mistakes");
});
