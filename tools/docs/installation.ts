/**
 * How pages say to install the packages: from npm, or from a clone while npm does not have them.
 */
import { posix } from "node:path";
import { site } from "../../docs/.vitepress/pages.ts";
import { published } from "../packages.ts";

/** The first release raises the versions, and updates the pages. */
export const isOnNpm = published.every(({ manifest }) => manifest["version"] !== "0.0.0");

const steps = "getting-started#1-create-a-project";

/** READMEs of packages have absolute links, because npm shows them too. */
function toSteps(page: string): string {
  if (page.startsWith("packages/")) return `${site}/guides/${steps}`;
  return posix.relative(posix.dirname(page), `docs/guides/${steps.replace("#", ".md#")}`);
}

/**
 * `npm install …` for a page.
 * @param names the arguments of the command, such as `--save-dev @loyalty-cards/cli`.
 */
export function renderInstall(names: readonly string[], page: string, fromNpm = isOnNpm): string {
  const toBlock = (all: readonly string[]) => `\n\`\`\`sh\nnpm install ${all.join(" ")}\n\`\`\`\n`;
  if (fromNpm) return `${toBlock(names)}\n`;
  const others = names.filter((name) => !name.startsWith("@loyalty-cards/"));
  const hasOthers = others.some((name) => !name.startsWith("--"));
  const sentence = `The packages are not on npm yet: [install them from a clone](${toSteps(page)}).`;
  return `\n${sentence}\n${hasOthers ? toBlock(others) : ""}\n`;
}

/** The command that a visitor of the landing page copies first. */
export function renderFirstCommand(page: string, fromNpm = isOnNpm): string {
  if (fromNpm) return renderInstall(["@loyalty-cards/issuing-client"], page, fromNpm);
  const sentence =
    "It prints the addresses of a shop and of the console. The packages are not on npm yet.";
  return `\n<!-- snippet: examples/commands/commands.sh#demo-keep -->\n\n${sentence}\n\n`;
}

/** The commands that install the packages in a copy of an example. */
export function renderCopy(fromNpm = isOnNpm): string {
  const sentence = fromNpm
    ? "Copy this folder, and run `npm install` in the copy."
    : "The packages are not on npm yet: copy this folder, run `npm ci && npm run build && npm run release:pack COPY` in a clone, and `npm install ./loyalty-cards-*.tgz` in the copy.";
  return `\n${sentence}\n\n`;
}

/** The commands that create a project with all packages. */
export function renderProject(fromNpm = isOnNpm): string {
  const sentence = fromNpm
    ? "Install the packages in a new folder, `my-shop`:"
    : "The packages are not on npm yet. Pack them in a clone, and install them in a new folder, `my-shop`, or in that of your own project:";
  const region = fromNpm ? "start-npm" : "start";
  return `\n${sentence}\n\n<!-- snippet: examples/commands/commands.sh#${region} -->\n`;
}
