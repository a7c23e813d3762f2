/** The pages of the site: which Markdown files of the repository they are, where they are, and in which order the sidebar has them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
/** The address of the site. */
export const site = "https://loyalty-cards.github.io/loyalty-cards";
export const repository = "https://github.com/loyalty-cards/loyalty-cards";

/** Pages of `docs` for maintainers: they are on GitHub only. */
const forMaintainers = ["architecture.md", "evidence.md", "decisions.md"];

/** Markdown files that are no pages of the site: each has its place on GitHub or in a tarball. */
export const excluded = [
  "*.md",
  "{compat,coverage,examples,openapi,reports}/**",
  "packages/*/{CHANGELOG,THIRD-PARTY}.md",
  "packages/*/docs/**",
  ...forMaintainers.map((path) => `docs/${path.replace(/\/$/, "/**")}`),
];

/** The first pattern that matches a file decides where its page is. */
const routes: readonly [file: RegExp, page: string][] = [
  [new RegExp(`^docs/(?!${forMaintainers.join("|")})(.+\\.md)$`), "$1"],
  [/^packages\/([\w-]+)\/README\.md$/, "packages/$1.md"],
  [/^packages\/([\w-]+)\/CONTROL\.md$/, "packages/$1-control-api.md"],
];

/** Returns the path of a page, such as `guides/sign-up.md`, for a file of the repository; undefined for a file that is no page. */
const findPage = (file: string) => {
  const route = routes.find(([pattern]) => pattern.test(file));
  return route && file.replace(...route);
};

/** As {@link findPage}. @throws for a file that has no place. */
export function toPage(file: string): string {
  const page = findPage(file);
  if (page !== undefined) return page;
  throw new Error(`${file} has no place on the site: add it to routes or excluded in pages.ts`);
}

/**
 * Returns where a link to a file of the repository leads: to a page of the site, or to GitHub.
 * @param file relative to the root, with forward slashes.
 * @returns undefined when there is no such file.
 */
export function resolveFile(file: string): string | undefined {
  if (file === "README.md" || file === "") return "/";
  if (!existsSync(join(root, file))) return undefined;
  const page = findPage(file);
  if (page !== undefined) return `/${page}`;
  return `${repository}/${/\.\w+$/.test(file) ? "blob" : "tree"}/main/${file}`;
}

/** The guides, in the order in which they are read; others follow. */
const order = [
  "getting-started",
  "sign-up",
  "receiving-webhooks",
  "testing",
  "production",
  "outbox",
  "command-line",
  "other-languages",
  "migration",
  "troubleshooting",
];

const toPosition = (file: string) => {
  const position = order.findIndex((name) => file.endsWith(`/${name}.md`));
  return position < 0 ? order.length : position;
};

/** The Markdown files in a folder and below it; none when the folder does not exist. */
const list = (folder: string, pattern = /\.md$/) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
        .filter((file) => pattern.test(file))
        .sort()
    : [];

const lookUp = [
  "errors.md",
  "check-signature.md",
  "guarantees.md",
  "specification.md",
  "assumptions.md",
];

/** The sections of the sidebar and of llms.txt. `npm run docs` creates the files of the reference. */
export const sections: readonly { text: string; files: readonly string[] }[] = [
  { text: "Guides", files: list("docs/guides").sort((a, b) => toPosition(a) - toPosition(b)) },
  {
    text: "Look up",
    files: lookUp.map((file) => `docs/${file}`).filter((file) => existsSync(join(root, file))),
  },
  { text: "Packages", files: list("packages", /^packages\/[\w-]+\/(README|CONTROL)\.md$/) },
  { text: "Reference", files: list("docs/reference") },
];

/** The address of a file's page below the base of the site. */
export const toLink = (file: string) => `/${toPage(file).replace(/(index)?\.md$/, "")}`;

/** Returns the first heading of a file and the paragraph below it, as plain text. @throws when it does not begin with a heading. */
export function readStart(file: string): { title: string; paragraph: string } {
  const page = readFileSync(join(root, file), "utf8").replace(
    /^---\n[\s\S]*?\n---\n|^<!--.*-->\n/gm,
    "",
  );
  const [, title, paragraph = ""] = /^\s*# (.+)\n+((?:.+\n?)*)/.exec(page) ?? [];
  if (title === undefined) throw new Error(`${file} does not begin with a heading.`);
  const toPlain = (markdown: string) =>
    markdown
      .replace(/\[([^\]]+)\]\([^)]+\)/g, "$1")
      .replace(/[`*]|\n$/g, "")
      .replaceAll("\n", " ");
  return { title: toPlain(title), paragraph: toPlain(paragraph) };
}
