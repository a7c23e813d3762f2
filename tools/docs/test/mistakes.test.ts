/** Each message in the page of common mistakes is the one that the packages print. */
import { expect, it } from "vitest";
import { formatQuotation, mistakes, updateMessages } from "../mistakes.ts";
import { readFromRoot } from "../snippets.ts";

const page = readFromRoot("docs/guides/common-mistakes.md");

it.each(Object.keys(mistakes))("prints the message that the page quotes for %s", async (name) => {
  const message = (await mistakes[name]?.()) ?? "";
  expect(page, "npm run mistakes brings the page up to date").toContain(
    `<!-- message: ${name} -->\n${formatQuotation(message)}\n`,
  );
});

it("the page quotes each mistake", async () => {
  expect(await updateMessages(page)).toBe(page);
  const without = page.replace("<!-- message: clock-off -->", "");
  await expect(updateMessages(without)).rejects.toThrow("do not name the same mistakes");
});
