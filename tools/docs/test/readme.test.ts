/** The README, the landing page and the first guide begin in the same way, and the README shows what a reader looks for first. */
import { describe, expect, it } from "vitest";
import { readFromRoot } from "../snippets.ts";

const readme = readFromRoot("README.md");

/** The quoted blocks of a page with their sources, in order. */
const readQuotes = (page: string) =>
  [...page.matchAll(/<!-- snippet: (\S+) -->\n```\w+\n([\s\S]*?)^```/gm)].map(([, source, text]) => ({
    source,
    text,
  }));

describe("the way to start", () => {
  const start = readQuotes(readme).slice(0, 3);

  it("is in the README: the installation, the first program, and the command that runs it", () => {
    const folder = "examples/getting-started";
    expect(start.map(({ source }) => source)).toEqual([
      `${folder}/commands.sh#start`,
      `${folder}/first-card.ts#first-card`,
      `${folder}/commands.sh#first-card`,
    ]);
  });

  it.each(["docs/index.md", "docs/guides/getting-started.md"])("is the same in %s", (page) => {
    const shown = readQuotes(readFromRoot(page)).filter(({ source }) => !source?.includes(".output."));
    expect(shown.slice(0, 3)).toEqual(start);
  });

  it.each(["README.md", "docs/index.md"])("is the only installation in %s", (page) => {
    const fences = readFromRoot(page).match(/^```sh\n[\s\S]*?^```/gm) ?? [];
    expect(fences.filter((fence) => fence.includes("npm install"))).toHaveLength(1);
  });
});

describe("the README", () => {
  it("has a first program of at most 12 lines, without a default for a secret", () => {
    const [, program = ""] = /^```ts\n([\s\S]*?)^```/m.exec(readme) ?? [];
    expect(program).toContain("issueCard");
    expect(program.trimEnd().split("\n").length).toBeLessThanOrEqual(12);
    expect(program).not.toContain('?? ""');
  });

  it("has a link to the site and pictures of a terminal and of the console in its first 40 lines", () => {
    const beginning = readme.split("\n").slice(0, 40).join("\n");
    expect(beginning).toContain("](https://loyalty-cards.github.io/loyalty-cards/)");
    expect(beginning).toMatch(/^!\[.+\]\(docs\/diagrams\/terminal\/\w+\.svg\)$/m);
    expect(beginning).toMatch(/^!\[.+\]\(docs\/diagrams\/console\.png\)$/m);
  });

  it("names the commands of the demo and the tests", () => {
    expect(readme).toContain("npm run demo");
    expect(readme).toContain("npm test");
  });
});
