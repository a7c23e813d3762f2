<<<<<<< HEAD
/** `llms.txt` of the site: the pages of the users' sidebar for a program that reads documentation, with one line about each. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { guides, readTitle, root, site, toPage } from "./pages.ts";
import { createUserSidebar } from "./sidebar.ts";

const reference = "the types, functions and options of every entry point";

/** @param summary one sentence. */
export function createLlmsTxt(title: string, summary: string): string {
  const packages = new Map(describePackages());
  const about = new Map([...describeGuides(), ...packages, ["/reference/", reference]]);
  const sections = createUserSidebar().map(({ text, items = [] }) => {
    const lines = items.map(({ text, link = "" }) => {
      const sentence = about.get(link);
      const name = packages.has(link) ? `@loyalty-cards/${text}` : text;
      return `- [${name}](${site}${link})${sentence === undefined ? "" : `: ${sentence}`}`;
=======
/** `llms.txt` of the site: its pages for a program that reads documentation, with the first sentence of each. */
import { readStart, sections, site, toLink } from "./pages.ts";

/** @param summary one sentence. */
export function createLlmsTxt(title: string, summary: string): string {
  const lists = sections.map(({ text, files }) => {
    const lines = files.map((file) => {
      const { title, paragraph } = readStart(file);
      const [sentence] = /^.+?[.:](?= |$)/.exec(paragraph) ?? [];
      return `- [${title}](${site}${toLink(file)})${sentence === undefined ? "" : `: ${sentence}`}`;
>>>>>>> 7e7c80ea (docs: the site on VitePress' own theme and home layout, one reference page per entry point, without the pages for maintainers)
    });
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  return `${[`# ${title}`, `> ${summary}`, ...lists].join("\n\n")}\n`;
}
<<<<<<< HEAD

const read = (file: string) => readFileSync(join(root, file), "utf8");
const toLink = (file: string) => `/${toPage(file).replace(/\.md$/, "")}`;

/** The first sentence of each guide. */
const describeGuides = () =>
  guides
    .flatMap((group) => group.guides.map(({ file }) => `docs/${file}.md`))
    .map((file): [string, string] => {
      const page = read(file).replace(/^<!--.*-->\n/gm, "");
      const [, paragraph = ""] = /^# .+\n\n((?:.+\n)+)/.exec(page) ?? [];
      const [sentence = ""] = /^.+?\.(?= |$)/.exec(paragraph.trim().replaceAll("\n", " ")) ?? [];
      if (sentence === "") throw new Error(`${readTitle(file)} does not begin with a sentence.`);
      return [toLink(file), toPlain(sentence)];
    });

/** The description in each package.json. */
const describePackages = () =>
  readdirSync(join(root, "packages")).map((name): [string, string] => [
    `/packages/${name}`,
    JSON.parse(read(`packages/${name}/package.json`)).description,
  ]);

const toPlain = (markdown: string) => markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replaceAll("*", "");
=======
>>>>>>> 7e7c80ea (docs: the site on VitePress' own theme and home layout, one reference page per entry point, without the pages for maintainers)
