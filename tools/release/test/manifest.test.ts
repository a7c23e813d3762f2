/**
 * The package.json of every published package has what npm and bundlers read and publint does not
 * check.
 */
import { expect, it } from "vitest";
import { listPages, readFromRoot } from "../../docs/snippets.ts";
import { entryPoints, published } from "../../packages.ts";
import { minimumNode, toTypesVersions } from "../build.ts";

const repository = "https://github.com/loyalty-cards/loyalty-cards";

it("finds the packages", () => {
  const names = published.map(({ name }) => name).sort();
  const known =
    "cli contract issuing-client issuing-outbox mock-server webhook-inbox webhook-verify";
  expect(names.join(" ")).toBe(known);
});

it.each(published)("$name has a complete package.json", ({ name, manifest }) => {
  expect(manifest).toMatchObject({
    name: `@loyalty-cards/${name}`,
    description: expect.stringMatching(/.{21,}/),
    homepage: `${repository}/tree/main/packages/${name}#readme`,
    bugs: { url: `${repository}/issues` },
    license: "MIT",
    // npm compares it with the provenance.
    repository: { type: "git", url: `git+${repository}.git`, directory: `packages/${name}` },
    type: "module",
    engines: { node: `>=${minimumNode}` },
    // The guard for browsers throws when it is loaded; bundlers would drop it.
    sideEffects:
      name === "issuing-client"
        ? ["./dist/browser.js", "./dist/browser.cjs", "./src/browser.ts"]
        : false,
    publishConfig: { access: "public", provenance: true },
  });
  expect(new Set(manifest.keywords as string[]).size).toBeGreaterThanOrEqual(5);
  const code = name === "contract" ? [] : ["dist", "src"]; // the contract has no code
  expect(manifest.files).toEqual(
    expect.arrayContaining([...code, "docs", "README.md", "LICENSE", "CHANGELOG.md"]),
  );
  expect(manifest.files?.filter((file) => /[*!]/.test(file))).toEqual([]);
});

const withEntryPoints = published.filter(({ name }) =>
  entryPoints.some((entry) => entry.name === name),
);
it.each(withEntryPoints)("$name has typesVersions for its exports", ({ manifest }) => {
  const expected = toTypesVersions(manifest.exports ?? {});
  expect(manifest["typesVersions"], "npm run generate updates it").toEqual(expected);
});

// Another package can require a newer Node.js, of which npm warns users of ours.
it.each(published)("$name depends on our packages only", ({ manifest: { dependencies = {} } }) => {
  expect(Object.keys(dependencies).filter((name) => !name.startsWith("@loyalty-cards/"))).toEqual(
    [],
  );
});

it.each(["issuing-client", "webhook-verify", "contract"])("%s has no dependencies", (name) => {
  const dependencies = published.find((one) => one.name === name)?.manifest.dependencies ?? {};
  expect(Object.keys(dependencies)).toEqual([]);
});

// npm reports ERESOLVE for a project that has another version for its own reasons.
it.each(published)(
  "$name accepts every version of its peers, and requires none",
  ({ manifest }) => {
    const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    expect(Object.values(peerDependencies).filter((range) => range !== "*")).toEqual([]);
    const optional = Object.keys(peerDependencies).map((name) => [name, { optional: true }]);
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(optional));
  },
);

// Later versions than 20 are those of databases and queues.
it("names the same minimum of Node.js on every page and in every package.json", () => {
  const mentions = listPages().flatMap((page) =>
    [
      ...readFromRoot(page).matchAll(
        /Node(?:\.js)? ((?:1\d|20)(?:\.\d+)*) (?:and|or) (?:newer|later)/g,
      ),
    ].map(([, version]) => `${page}: ${version}`),
  );
  expect(mentions.length).toBeGreaterThanOrEqual(5);
  expect(mentions.filter((mention) => !mention.endsWith(`: ${minimumNode}`))).toEqual([]);
  for (const folder of [".", "examples/fastify", "examples/testing"]) {
    const { engines } = JSON.parse(readFromRoot(`${folder}/package.json`));
    expect(engines).toEqual({ node: `>=${minimumNode}` });
  }
});
