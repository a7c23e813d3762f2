/** `llms.txt` of the site: its pages for a program that reads documentation, with the first sentence of each. */
import { readStart, sections, site, toLink } from "./pages.ts";

/** @param summary one sentence. */
export function createLlmsTxt(title: string, summary: string): string {
  const lists = sections.map(({ text, files }) => {
    const lines = files.map((file) => {
      const { title, paragraph } = readStart(file);
      const [sentence] = /^.+?[.:](?= |$)/.exec(paragraph) ?? [];
      return `- [${title}](${site}${toLink(file)})${sentence === undefined ? "" : `: ${sentence}`}`;
    });
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  return `${[`# ${title}`, `> ${summary}`, ...lists].join("\n\n")}\n`;
}
