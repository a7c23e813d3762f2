/** A printed snippet compiles: what it uses is in it, or in a block above it on the same page whose file is named. */
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { getErrors, inMemoryProgram } from "../../checks/in-memory-program.ts";
import { readFromRoot } from "../snippets.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const guides = ["docs/guides", "docs/errors"].flatMap((folder) =>
  readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
);
const readmes = readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`);

interface Block {
  page: string;
  /** The file that the block was copied from. */
  file: string;
  text: string;
  /** The text of the page before the block. */
  before: string;
}

function readBlocks(page: string): Block[] {
  const text = readFromRoot(page);
  return [...text.matchAll(/<!-- snippet: ([^\s#]+)\S* -->\n```tsx?\n([\s\S]*?)^```/gm)].map(
    ({ 1: file = "", 2: program = "", index }) => ({
      page,
      file,
      text: program,
      before: text.slice(0, index).replace(/^.* from ".*";.*$/gm, ""), // an import shows no file
    }),
  );
}

/** Checks whether a text, or the comment that begins a block, names the file. */
const namesFile = (file: string, text: string) =>
  new RegExp(
    `[\`/ ]${basename(file)
      .replace(/\.[jt]sx?$/, "")
      .replaceAll(".", "\\.")}\\.[jt]sx?\\b`,
  ).test(text);

const blocks = ["README.md", ...guides, ...readmes].flatMap(readBlocks);

/** Each block with the blocks of the same file above it, under a path beside that file, so that its imports are found. */
const printed = new Map(
  blocks.map((block, index) => {
    const above = blocks
      .slice(0, index)
      .filter(({ page, file }) => page === block.page && file === block.file);
    const program = [...above, block].map(({ text }) => text).join("\n");
    return [join(root, dirname(block.file), `printed-${index}.${block.file.split(".").at(-1)}`), program];
  }),
);

describe("a printed snippet", () => {
  it("compiles as it stands, with the blocks of the same file above it", { timeout: 120_000 }, () => {
    expect(blocks.length).toBeGreaterThan(25);
    const program = inMemoryProgram(printed);
    const errors = [...printed.keys()].flatMap((path, index) =>
      getErrors(program, path).map((error) => `${blocks[index]?.page}, ${blocks[index]?.file}: ${error}`),
    );
    expect(errors).toEqual([]);
  });

  it.each(blocks)("of $file in $page names each file that it needs", ({ page, file, text, before }) => {
    const needed = [...text.matchAll(/from "(\.{1,2}\/[^"]+)"/g)].map(([, path = ""]) => path);
    const continues = before.includes(`<!-- snippet: ${file}#`) || before.includes(`<!-- snippet: ${file} `);
    if (continues) needed.push(file);
    expect(
      needed.filter((path) => !namesFile(path, before) && !namesFile(path, text.split("\n")[0] ?? "")),
      page,
    ).toEqual([]);
  });
});
