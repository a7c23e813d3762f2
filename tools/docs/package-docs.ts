/**
 * Writes the documentation inside the tarball of a package: `docs/` with its guides and `using.md`, a page for people and programs
 * that know nothing else, and `llms.txt`, which lists them. The build of each package runs it in the package's folder.
 *
 * All text and code comes from pages whose code is quoted from files that run in the tests; nothing is written here.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveFile } from "../../docs/.vitepress/pages.ts";
import type { Manifest } from "../published.ts";
import { readFromRoot, updateSnippets } from "./snippets.ts";

const site = "https://loyalty-cards.github.io/loyalty-cards";
const images = "https://raw.githubusercontent.com/loyalty-cards/loyalty-cards/main";

interface Contents {
  /** Pages of `docs/guides` with what they are about. */
  guides: Readonly<Record<string, string>>;
  /** Code of the examples, as `file#region`, by its heading. */
  calls: Readonly<Record<string, string>>;
  /** Sections of pages, as `file#heading`. */
  mistakes: readonly string[];
}

const receiving = "responses, duplicates, order, secret rotation";

/** By the folder of the package. */
export const contents: Readonly<Record<string, Contents>> = {
  "issuing-client": {
    guides: {
      "sign-up": "the outbox, idempotency, errors, consents",
      bulk: "cards for existing members",
    },
    calls: {
      "Issue a card": "examples/snippets/client/issue.ts#issue",
      "Handle errors": "examples/snippets/client/failures.ts#failures",
    },
    mistakes: ["docs/guides/common-mistakes.md#Issuing cards"],
  },
  "issuing-outbox": {
    guides: {
      "sign-up": "the outbox, idempotency, errors, consents",
      outbox: "alarms, pauses, unknown entries, upgrades, copies, stored data",
    },
    calls: {
      "SQLite, on one machine": "examples/snippets/outbox/one-machine.ts#one-machine",
      "PostgreSQL, on several machines": "examples/fastify/sign-up.ts#sign-up",
      "Find what a person should know": "examples/snippets/outbox/operations.ts#operations",
    },
    mistakes: ["docs/guides/troubleshooting.md#The outbox"],
  },
  "webhook-verify": {
    guides: {
      "receiving-webhooks": receiving,
      migration: "from your own HMAC code",
      security: "what the package protects, and what you must protect",
    },
    calls: {
      Express: "examples/snippets/receivers/express.ts#express",
      Next: "examples/snippets/receivers/next-route.ts#next",
      "Without an adapter": "examples/snippets/receivers/verify.ts#verify",
    },
    mistakes: [
      "docs/guides/common-mistakes.md#Receiving webhooks",
      "docs/guides/receiving-webhooks.md#Checklist",
    ],
  },
  "webhook-inbox": {
    guides: {
      "receiving-webhooks": receiving,
      production: "timeouts, observability, capacity, several machines",
    },
    calls: {
      "SQLite, on one machine": "examples/snippets/inbox/one-machine.ts#one-machine",
      "PostgreSQL with pg-boss": "examples/snippets/inbox/pg-boss.ts#pg-boss",
    },
    mistakes: [
      "docs/guides/troubleshooting.md#The inbox does not open",
      "docs/guides/troubleshooting.md#Events wait in the inbox",
      "docs/guides/troubleshooting.md#Duplicate events",
    ],
  },
  "mock-server": {
    guides: { testing: "MSW, faults, time, control API" },
    calls: {
      "In tests, with MSW": "examples/testing/sign-up.test.ts#test-with-mock",
      "On a port": "examples/getting-started/commands.sh#port",
      "Around a command": "examples/getting-started/commands.sh#exec",
    },
    mistakes: ["packages/mock-server/README.md#Warnings", "docs/guides/testing.md#What to test"],
  },
  cli: {
    guides: {
      "command-line": "cards, import, webhook tools, doctor and drift",
      bulk: "cards for existing members",
    },
    calls: {
      Configure: "examples/command-line/commands.sh#configure",
      "Check the configuration": "examples/command-line/commands.sh#doctor",
      "Issue a card": "examples/command-line/commands.sh#issue",
    },
    mistakes: ["packages/cli/README.md#In scripts"],
  },
  contract: {
    guides: { "other-languages": "curl, Python, PHP, Ruby and Go" },
    calls: {
      "Issue a card": "examples/other-languages/issue-card.sh#issue",
      "Verify a webhook, in Python": "examples/other-languages/python/loyalty_webhook.py#verify",
    },
    mistakes: ["packages/contract/README.md#Verify a webhook"],
  },
};

/** @returns the content of each file by its path in the package. */
export function packageDocs(name: string): Record<string, string> {
  const own = contents[name];
  if (own === undefined)
    throw new Error(`packages/${name} has no documentation: add it to tools/docs/package-docs.ts`);
  const manifest: Manifest = JSON.parse(readFromRoot(`packages/${name}/package.json`));
  const localPages = new Map([
    ...Object.keys(own.guides).map((guide) => [`docs/guides/${guide}.md`, `${guide}.md`] as const),
    [`packages/${name}/README.md`, "../README.md"] as const,
  ]);
  const toLocal = (file: string, text: string) => linkPages(withoutComments(text), file, localPages);

  const files: Record<string, string> = {};
  for (const guide of Object.keys(own.guides)) {
    const file = `docs/guides/${guide}.md`;
    files[`docs/${guide}.md`] = toLocal(file, readFromRoot(file));
  }
  const section = (reference: string) => {
    const [file = "", heading = ""] = reference.split("#");
    return toLocal(file, readSection(readFromRoot(file), heading, file));
  };
  files["docs/using.md"] = [
    `# Using ${manifest.name}`,
    String(manifest["description"]),
    `The [README](../README.md) describes the main options, and the comments of the types all of them. Guides: ${listGuides(own)}.`,
    ...importTable(name, manifest),
    "## Main calls",
    ...Object.entries(own.calls).flatMap(([heading, snippet]) => [`### ${heading}`, quote(snippet)]),
    "## Mistakes to avoid",
    ...own.mistakes.map(section),
  ]
    .join("\n\n")
    .concat("\n");
  files["llms.txt"] = [
    `# ${manifest.name}`,
    `> ${manifest["description"]}`,
    "## Docs",
    [
      "- [Using this package](docs/using.md): what it is for, the main calls, the mistakes",
      ...Object.entries(own.guides).map(
        ([guide, about]) => `- [${readTitle(`docs/guides/${guide}.md`)}](docs/${guide}.md): ${about}`,
      ),
      "- [README](README.md): functions and main options",
    ].join("\n"),
    "## Optional",
    `- [All guides and the reference](${site}/)`,
  ]
    .join("\n\n")
    .concat("\n");
  return files;
}

const listGuides = ({ guides }: Contents) =>
  Object.keys(guides)
    .map((guide) => `[${readTitle(`docs/guides/${guide}.md`)}](${guide}.md)`)
    .join(", ");

const readTitle = (file: string) => /^# (.+)$/m.exec(readFromRoot(file))?.[1] ?? file;

/** What can be imported from where: the first sentence of each entry point. */
function importTable(name: string, { name: specifier, exports = {} }: Manifest): string[] {
  const rows = Object.entries(exports).flatMap(([path, target]) => {
    const source = (target as { "@loyalty-cards/source"?: string })["@loyalty-cards/source"];
    if (source === undefined) return [];
    const [, purpose = ""] =
      /^\/\*\* (.+) \*\/\n/.exec(readFromRoot(posix.join("packages", name, source))) ?? [];
    const sentence = purpose
      .replace(/^Entry point[^:]*: /, "")
      .replace(/^./, (letter) => letter.toUpperCase());
    return [`| \`${specifier}${path.slice(1)}\` | ${sentence} |`];
  });
  return rows.length === 0
    ? []
    : ["## Imports", ["| import from | content |", "|---|---|", ...rows].join("\n")];
}

const quote = (snippet: string) =>
  withoutComments(updateSnippets(`<!-- snippet: ${snippet} -->\n\`\`\`\n\`\`\``, readFromRoot)).trim();

/** Calls `change` with each part of a page outside of its code blocks. */
const outsideOfCode = (page: string, change: (text: string) => string) =>
  page
    .split(/^(```[\s\S]*?^```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join("");

/** Removes the marks of our own tools, which are lines with an HTML comment. */
const withoutComments = (page: string) => outsideOfCode(page, (text) => text.replace(/^<!--.*-->\n/gm, ""));

/** A section with its heading at level 3, and those below it at level 4. @throws when the page has no such heading. */
export function readSection(page: string, heading: string, file: string): string {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.replace(/^#+ /, "") === heading && line.startsWith("#"));
  if (start < 0) throw new Error(`${file} has no heading "${heading}".`);
  const level = /^#+/.exec(lines[start] ?? "")?.[0].length ?? 0;
  let isCode = false;
  const end = lines.findIndex((line, index) => {
    if (line.startsWith("```")) isCode = !isCode;
    return index > start && !isCode && (/^#+(?= )/.exec(line)?.[0].length ?? 7) <= level;
  });
  const section = lines
    .slice(start, end < 0 ? undefined : end)
    .join("\n")
    .trim();
  return outsideOfCode(section, (text) =>
    text.replace(/^#+(?= )/gm, (marks) => "#".repeat(marks.length - level + 3)),
  );
}

/** Turns relative links into links to other files of the tarball, or to the site and the repository. */
function linkPages(page: string, file: string, localPages: ReadonlyMap<string, string>): string {
  return outsideOfCode(page, (text) =>
    text.replace(
      /(!?)(\[[^\]]*\])\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g,
      (_whole, image, label, path, anchor = "") => {
        const target = posix.join(posix.dirname(file), path);
        if (image === "!") return `![${label.slice(1, -1)}](${images}/${target})`;
        return `${label}(${localPages.get(target) ?? toAddress(target)}${anchor})`;
      },
    ),
  );
}

/** @throws when the repository has no such file. */
function toAddress(file: string): string {
  const found = resolveFile(file);
  if (found === undefined) throw new Error(`A page of the packages links to ${file}, which does not exist.`);
  return found.startsWith("/") ? site + found.replace(/(\/index)?\.md$/, "") : found;
}

/** @returns the relative links of a page that lead to no file of the tarball,  */
export function findBrokenLinks(path: string, page: string, paths: readonly string[]): string[] {
  const targets: string[] = [];
  outsideOfCode(page, (text) => {
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) targets.push(target);
    return text;
  });
  return targets.filter((target) => {
    if (/^(https?:|#)/.test(target)) return false;
    return !paths.includes(posix.join(posix.dirname(path), target.split("#")[0] ?? ""));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.cwd();
  rmSync(join(folder, "docs"), { recursive: true, force: true });
  mkdirSync(join(folder, "docs"));
  for (const [path, text] of Object.entries(packageDocs(basename(folder))))
    writeFileSync(join(folder, path), text);
}
