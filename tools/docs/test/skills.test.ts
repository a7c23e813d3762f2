/** The skills for coding agents in the tarballs: their form, their links, their code, and that npm packs them. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { guides, site } from "../../../docs/.vitepress/pages.ts";
import { quote } from "../excerpts.ts";
import { contents, packageDocs } from "../package-docs.ts";
import { createSkill, type SkillName, skills } from "../skills.ts";
import { readFromRoot } from "../snippets.ts";

describe.each(Object.keys(skills) as SkillName[])("%s", (name) => {
  const text = createSkill(name);

  it("has the form of a skill, and at most 80 lines", () => {
    const [, front = "", page = ""] = /^---\n([\s\S]*?)\n---\n\n([\s\S]*)$/.exec(text) ?? [];
    const [, ownName, description = ""] = /^name: (.+)\ndescription: (".+")$/.exec(front) ?? [];
    expect(ownName).toBe(name);
    expect(name).toMatch(/^[a-z\d]+(-[a-z\d]+)*$/);
    expect(JSON.parse(description)).toMatch(/^.{100,1024}$/);
    expect(description).toContain("Use it when");
    expect(page.match(/^## .+/gm)).toEqual(
      expect.arrayContaining(["## Steps", "## Example", "## Rules", "## Tests"]),
    );
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(80);
  });

  it("links to pages of the site only, to headings that exist", () => {
    const targets = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
    const own = targets.filter((target) => target !== "https://mswjs.io");
    expect(own.length).toBeGreaterThan(0);
    for (const target of own) {
      expect(target.startsWith(`${site}/guides/`), target).toBe(true);
      const [page, anchor] = target.slice(site.length + 1).split("#");
      expect(guides.flatMap((group) => group.guides.map(({ file }) => file))).toContain(page);
      const headings = [...readFromRoot(`docs/${page}.md`).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      );
      if (anchor !== undefined) expect(headings).toContain(anchor);
    }
  });

  it("has the code of its example, and otherwise code of its guides, without a change", () => {
    const readCode = (page: string) => page.match(/^```[\s\S]*?^```$/gm) ?? [];
    const { example, guides } = skills[name];
    expect(readCode(text)).toContain(quote(example));
    const known = guides.flatMap((guide) => readCode(readFromRoot(`docs/guides/${guide}.md`)));
    expect([quote(example), ...known]).toEqual(expect.arrayContaining(readCode(text)));
  });
});

const owners = Object.entries(contents).filter(([, { skills = [] }]) => skills.length > 0);

it("are each in the tarball of a package that its reader installs", () => {
  expect(Object.fromEntries(owners.map(([name, { skills }]) => [name, skills]))).toEqual({
    "issuing-client": ["loyalty-cards-sign-up"],
    "issuing-outbox": ["loyalty-cards-sign-up"],
    "webhook-verify": ["loyalty-cards-receiver"],
    "mock-server": ["loyalty-cards-tests"],
  });
});

it.each(owners)("are packed by npm with %s", (name, { skills = [] }) => {
  const folder = mkdtempSync(join(tmpdir(), "skills-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { name: packageName, version, files } = JSON.parse(readFromRoot(`packages/${name}/package.json`));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(packageDocs(name))) write(path, text);
  write("package.json", JSON.stringify({ name: packageName, version, files }));
  const output = execFileSync("npm", ["pack", "--dry-run", "--json"], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ files: packed }] = JSON.parse(output) as [{ files: { path: string }[] }];
  const paths = packed.map(({ path }) => path);
  expect(skills.length).toBeGreaterThan(0);
  for (const skill of skills) expect(paths).toContain(`skills/${skill}/SKILL.md`);
});
