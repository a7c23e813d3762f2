/** The pages of the site: which Markdown files of the repository they are, where they are, and in which order they are read. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
/** The address of the site. */
export const site = "https://loyalty-cards.github.io/loyalty-cards";
export const repository = "https://github.com/loyalty-cards/loyalty-cards";

/** Markdown files that are no pages of the site: each has its place on GitHub or in a tarball. */
export const excluded = [
  "README.md",
  "AGENTS.md",
  "**/CHANGELOG.md",
  "**/THIRD-PARTY.md",
  "compat/**",
  "packages/*/docs/**",
  "openapi/**",
  "reports/**",
  "coverage/**",
];

/** The first pattern that matches a file decides where its page is. */
const routes: readonly [file: RegExp, page: string][] = [
  [/^docs\/(guides|reference)\/(.+)$/, "$1/$2"],
  [/^docs\/(.+)$/, "$1"],
  [/^(packages|examples)\/([\w-]+)\/README\.md$/, "$1/$2.md"],
  [/^packages\/([\w-]+)\/CONTROL\.md$/, "packages/$1-control-api.md"],
  [/^CONTRIBUTING\.md$/, "contributing.md"],
  [/^SECURITY\.md$/, "security-policy.md"],
];

/** Returns the path of a page, such as `guides/sign-up.md`, for a file of the repository. @throws for a file that has no place. */
export function toPage(file: string): string {
  const route = routes.find(([pattern]) => pattern.test(file));
  if (route === undefined)
    throw new Error(
      `${file} has no place on the site: add it to routes or excluded in docs/.vitepress/pages.ts`,
    );
  return file.replace(...route);
}

/**
 * Returns where a link to a file of the repository leads: to a page of the site, or to GitHub.
 * @param file relative to the root, with forward slashes.
 * @returns undefined when there is no such file.
 */
export function resolveFile(file: string): string | undefined {
  if (file === "README.md" || file === "") return "/";
  if (file.startsWith("docs/reference/") && file.endsWith(".md")) return `/${toPage(file)}`;
  if (!existsSync(join(root, file))) return undefined;
  const route = routes.find(([pattern]) => pattern.test(file));
  if (file.endsWith(".md") && route !== undefined && !/(^|\/)(CHANGELOG|THIRD-PARTY)\.md$/.test(file))
    return `/${file.replace(...route)}`;
  return `${repository}/${/\.\w+$/.test(file) ? "blob" : "tree"}/main/${file}`;
}

/** A guide, and the section of the troubleshooting guide (or the page) that helps when it does not work. */
interface Guide {
  file: string;
  help?: string;
}

/** The guides, in the order in which they are read: the sidebar, and the links at the end of each guide. */
export const guides: readonly { text: string; guides: readonly Guide[] }[] = [
  {
    text: "Start",
    guides: [
      { file: "guides/getting-started", help: "guides/troubleshooting" },
      { file: "guides/sign-up", help: "guides/troubleshooting#issuing-cards" },
      { file: "guides/receiving-webhooks", help: "guides/troubleshooting#webhooks" },
      { file: "guides/testing", help: "guides/troubleshooting" },
    ],
  },
  {
    text: "Operate",
    guides: [
      { file: "guides/production", help: "guides/troubleshooting" },
      { file: "guides/outbox", help: "guides/troubleshooting#the-outbox" },
      { file: "guides/security", help: "guides/troubleshooting#401-for-every-delivery" },
      { file: "guides/command-line", help: "guides/troubleshooting" },
      { file: "guides/other-languages", help: "guides/troubleshooting#401-for-every-delivery" },
      { file: "guides/migration", help: "guides/troubleshooting#401-for-every-delivery" },
    ],
  },
  {
    text: "Solve problems",
    guides: [{ file: "guides/troubleshooting" }],
  },
];

/** Returns the first heading of a file of the repository. @throws when it does not begin with one. */
export function readTitle(file: string): string {
  const heading = /^(?:---\n[\s\S]*?\n---\n)?\s*# (.+)\n/.exec(readFileSync(join(root, file), "utf8"));
  if (heading === null) throw new Error(`${file} does not begin with a heading.`);
  return heading[1]?.replaceAll("`", "") ?? "";
}

/** For guides, such as `guides/sign-up.md`: where the reader finds help. */
export const help = Object.fromEntries(
  guides
    .flatMap((group) => group.guides)
    .flatMap(({ file, help }) => {
      if (help === undefined) return [];
      const text = readTitle(`docs/${help.replace(/#.*/, "")}.md`);
      return [[`${file}.md`, { text, link: `/${help}` }]];
    }),
);
