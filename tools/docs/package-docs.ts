/**
 * Writes the documentation inside the tarball of a package: `docs/` with its guides and `using.md`, a page for people and programs
 * that know nothing else, `skills/` for coding agents, and `llms.txt`, which lists them. The build of each package runs it in the package's folder.
 *
 * All text and code comes from pages whose code is quoted from files that run in the tests; nothing is written here.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { readTitle, site } from "../../docs/.vitepress/pages.ts";
import type { Manifest } from "../published.ts";
import { linkPages, quote, readSection, withoutComments } from "./excerpts.ts";
import { createSkill, type SkillName } from "./skills.ts";
import { readFromRoot } from "./snippets.ts";

interface Contents {
  /** Pages of `docs/guides` with what they are about. */
  guides: Readonly<Record<string, string>>;
  /** Code of the examples, as `file#region`, by its heading. */
  calls: Readonly<Record<string, string>>;
  /** Sections of pages, as `file#heading`. */
  mistakes: readonly string[];
  skills?: readonly SkillName[];
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
    skills: ["loyalty-cards-sign-up"],
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
    skills: ["loyalty-cards-sign-up"],
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
    skills: ["loyalty-cards-receiver"],
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
    skills: ["loyalty-cards-tests"],
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
    guides: { "other-languages": "curl, Python and PHP" },
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
  const skills = own.skills ?? [];
  for (const skill of skills) files[`skills/${skill}/SKILL.md`] = createSkill(skill);
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
      ...skills.map(
        (skill) => `- [Skill ${skill}](skills/${skill}/SKILL.md): steps and rules for a coding agent`,
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.cwd();
  for (const name of ["docs", "skills"]) rmSync(join(folder, name), { recursive: true, force: true });
  for (const [path, text] of Object.entries(packageDocs(basename(folder)))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
