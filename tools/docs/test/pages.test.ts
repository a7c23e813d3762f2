/**
 * The pages: their code is quoted from files that run in the tests, their tables are fresh, and
 * what they link, cite and name exists.
 */
import { existsSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { operations } from "@loyalty-cards/openapi/operations";
import type { ReceiverOutcome } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { reasons } from "../../../packages/webhook-verify/src/reasons.ts";
import { root } from "../../run.ts";
import {
  isOnNpm,
  renderCopy,
  renderFirstCommand,
  renderInstall,
  renderProject,
} from "../installation.ts";
import { updatePage } from "../pages.ts";
import { listFiles, listPages, readFromRoot } from "../snippets.ts";

const withoutCode = (page: string) => page.replace(/^```[\s\S]*?^```$/gm, "");

/** The anchors of a page: those of headings as on GitHub, and explicit ones. */
function readAnchors(file: string): string[] {
  const page = withoutCode(readFromRoot(file));
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-"),
  );
  return [...headings, ...[...page.matchAll(/<a id="([\w-]+)">/g)].map(([, id = ""]) => id)];
}

/** A code block in the language of a program. */
const program =
  /^```(?:[mc]?[jt]sx?|sh|bash|shell|console|powershell|py|python|php|http)\n([\s\S]*?)^```/gm;

/**
 * Whether a command installs packages of our lock file, or runs a script of the folder or the root.
 */
function isNpmCommand(command: string, folder: string): boolean {
  if (command === "npm ci") return true;
  const [, packages] = /^npm install (?:--save-dev )?(.+)$/.exec(command) ?? [];
  if (packages !== undefined)
    return packages.split(" ").every((name) => `node_modules/${name}` in lock.packages);
  const [, script = ""] = /^npm (?:run )?([\w:]+)$/.exec(command) ?? [];
  return [folder, "."].some((each) => {
    const file = join(each, "package.json");
    return existsSync(join(root, file)) && script in JSON.parse(readFromRoot(file)).scripts;
  });
}

const lock: { packages: object } = JSON.parse(readFromRoot("package-lock.json"));

describe.each(listPages())("%s", (page) => {
  const text = readFromRoot(page);

  it("has quotations and generated tables as their sources are now (otherwise run npm run snippets)", async () => {
    expect(await updatePage(page, text)).toBe(text);
  });

  it("installs our packages from npm only when they are there", () => {
    const isFromNpm = /npm install .*@loyalty-cards/.test(text);
    expect(isFromNpm && !isOnNpm).toBe(false);
  });

  it("has no program that is not quoted from a file that runs, except commands of npm", () => {
    const unquoted = [...text.matchAll(program)].filter(
      ({ index }) => !/<!-- snippet: \S+ -->\n$/.test(text.slice(0, index)),
    );
    const commands = unquoted
      .flatMap(([, code = ""]) => code.trimEnd().split(/\n| && /))
      .map((line) => line.replace(/ +#.*$/, ""));
    expect(commands.filter((command) => !isNpmCommand(command, dirname(page)))).toEqual([]);
  });

  it("links to files and headings that exist", () => {
    const broken = [...withoutCode(text).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)]
      .map(([link, path = "", anchor]) => {
        const target = path === "" ? page : posix.join(posix.dirname(page), path);
        if (!existsSync(join(root, target))) return link;
        return anchor && target.endsWith(".md") && !readAnchors(target).includes(anchor)
          ? link
          : "";
      })
      .filter((link) => link !== "");
    expect(broken).toEqual([]);
  });
});

it("with the first release, pages install from npm what they install from a clone before", () => {
  const names = ["--save-dev", "@loyalty-cards/mock-server", "msw"];
  const render = (fromNpm: boolean) => renderInstall(names, "docs/guides/testing.md", fromNpm);
  expect(render(true)).toContain("npm install --save-dev @loyalty-cards/mock-server msw\n");
  expect(render(false)).toMatch(/\(getting-started\.md#.+npm install --save-dev msw\n/s);
  expect(renderCopy(true)).toContain("run `npm install` in");
  expect(renderCopy(false)).toContain("npm install ./loyalty-cards-*.tgz");
  expect(renderFirstCommand("docs/index.md", true)).toContain("npm install @loyalty-cards/");
  expect(renderFirstCommand("docs/index.md", false)).toMatch(/#demo-keep -->.+not on npm yet/s);
  expect(renderProject(true)).toContain("#start-npm -->");
  expect(renderProject(false)).toContain("#start -->");
});

const allReasons = { ...reasons, "handler-error": true } satisfies Record<
  Extract<ReceiverOutcome, { reason: unknown }>["reason"],
  unknown
>;

it("the page about errors has a section for each code of the client and reason of the receiver, to which messages link", () => {
  const headings = readFromRoot("docs/errors.md").matchAll(/^### (.+)$/gm);
  const [, codes] =
    /type IssuingErrorCode =([^;]+);/.exec(readFromRoot("packages/issuing-client/src/errors.ts")) ??
    [];
  const expected = [
    ...(codes?.match(/[\w-]+/g) ?? []),
    ...Object.keys(allReasons).map((reason) => `webhook-${reason}`),
  ];
  expect(Array.from(headings, ([, heading]) => heading).sort()).toEqual(expected.sort());
});

/**
 * Programs and pages that cite the specification, such as "spec 4.4, 4.5", or in openapi.yaml
 * `x-spec: "4.4"`.
 */
const citing = ["internal", "openapi", "packages", "examples", "docs", "tools", "compat"]
  .flatMap(listFiles)
  .filter((file) => /\.(tsx?|mjs|md|yaml)$/.test(file))
  .filter(
    (file) =>
      !/^docs\/reference\/|^packages\/[\w-]+\/docs\/|\/(CHANGELOG|THIRD-PARTY)\.md$/.test(file),
  );

it("every clause of the specification that a file cites has its anchor", () => {
  const anchors = new Set(readAnchors("docs/specification.md"));
  const cited = citing.flatMap((file) => {
    const plain = readFromRoot(file).replace(/\[((?:spec )?\d[\d.]*)\]\([^)]*\)/g, "$1");
    const lists = plain.matchAll(
      /\b(?:spec |x-spec: ")(\d+(?:\.\d+)*(?:(?:, | and )\d+(?:\.\d+)*)*)/g,
    );
    return [...lists].flatMap(([, list = ""]) =>
      list
        .split(/, | and /)
        .map((clause) => ({ file, anchor: `spec-${clause.replaceAll(".", "-")}` })),
    );
  });
  expect(cited.length).toBeGreaterThan(150);
  expect(cited.filter(({ anchor }) => !anchors.has(anchor))).toEqual([]);
});

it("the specification has a row for each operation and each event type of openapi.yaml", () => {
  const page = readFromRoot("docs/specification.md");
  const rows = Object.values(operations).map(({ method, path }) => `| ${method} | \`${path}\` |`);
  const missing = [
    ...rows,
    ...Object.keys(openapi.webhooks).map((type) => `| \`${type}\` |`),
  ].filter((row) => !page.includes(`\n${row}`));
  expect(missing, "add a row to clause 4 or 6.2 of docs/specification.md").toEqual([]);
});

it("the request paths of the architecture page name files that exist", () => {
  const page = readFromRoot("docs/architecture.md");
  const paths = page.slice(page.indexOf("## Request paths"), page.indexOf("## Dependencies"));
  const named = [...paths.matchAll(/`([a-z][\w/-]*\w)`/g)].map(([, name = ""]) => name);
  const files = ["packages", "internal"].flatMap(listFiles);
  const known = ["followFile"]; // a function
  const exists = (name: string) =>
    files.some((file) => new RegExp(`/${name}\\.[jt]sx?$`).test(file));
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !known.includes(name) && !exists(name))).toEqual([]);
});

it("the mutation tests name files that exist", () => {
  const parts: Record<"mutate" | "tests", string[]>[] = Object.values(
    JSON.parse(readFromRoot("compat/mutation.json")),
  );
  const patterns = parts.flatMap(({ mutate, tests }) => [...mutate, ...tests]);
  const paths = patterns.flatMap((pattern) => {
    const [before, names = "", after = ""] = pattern.split(/[{}]/);
    return names.split(",").map((name) => `${before}${name}${after}`);
  });
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
