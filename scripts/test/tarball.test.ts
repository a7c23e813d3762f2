/** A tarball has what is needed, and nothing else; the reader of tarballs notices both. */
import { describe, expect, it } from "vitest";
import type { Manifest } from "../published.ts";
import { tarballFaults } from "../tarball.ts";

const manifest: Manifest = {
  name: "@loyalty-cards/small",
  dependencies: { needed: "^1.0.0" },
  peerDependencies: { "@scope/peer": "^1.0.0" },
  main: "./dist/index.cjs",
  exports: {
    ".": { import: { types: "./dist/index.d.ts", default: "./dist/index.js" }, require: "./dist/index.cjs" },
    "./sql/*": "./sql/*",
  },
};
const files: Record<string, string> = {
  "package.json": "{}",
  LICENSE: "",
  "README.md": "[the control API](CONTROL.md), [npm](https://npmjs.com), [a neighbour](../other/README.md)",
  "CONTROL.md": "",
  "dist/index.js":
    'import "./chunk.js";\nconst text = `import "./no.js"`;\n//# sourceMappingURL=index.js.map',
  "dist/index.js.map": '{"sources":["../src/index.ts","../../../node_modules/other/index.js"]}',
  "dist/chunk.js": 'await import("./late.js")',
  "dist/late.js": "",
  "dist/index.cjs": 'require("needed/sub"); require("node:fs"); require("@scope/peer")',
  "dist/index.d.ts": 'export { type A } from "./a.js"',
  "dist/a.d.ts": "",
  "src/index.ts": 'export type { A } from "./a.ts"',
  "src/a.ts": "",
  "sql/1.sql": "",
};
const faultsOf = (tarball: Record<string, string>) =>
  tarballFaults("small", manifest, Object.keys(tarball), (path) => tarball[path] ?? "");
const without = (path: string) => Object.fromEntries(Object.entries(files).filter(([name]) => name !== path));

it("follows entries, imports, types, source maps, patterns and links", () => {
  expect(faultsOf(files)).toEqual([]);
});

describe("is missing:", () => {
  it.each(Object.keys(files).filter((path) => !["package.json", "src/index.ts", "sql/1.sql"].includes(path)))(
    "%s",
    (path) => {
      expect(faultsOf(without(path)).join("\n")).toContain(`packages/small has no ${path}`);
    },
  );
});

it.each(["dist/old-chunk.js", "test/a.test.ts", "tsup.config.ts"])("%s is not needed", (path) => {
  expect(faultsOf({ ...files, [path]: "" })).toEqual([
    `packages/small would publish ${path}, to which nothing leads`,
  ]);
});

it.each(['{"sources":["/home/anna/src/index.ts"]}', '{"file":"/home/anna/dist/index.js","sources":[]}'])(
  "a path of somebody's machine is found: %s",
  (map) => {
    expect(faultsOf({ ...files, "dist/index.js.map": map })).toContain(
      "packages/small: dist/index.js.map has a path of the machine that built it",
    );
  },
);

it.each([
  ["dist/index.js", 'import "./chunk.js";\n//# sourceMappingURL=index.js.map\nimport "stranger"', "stranger"],
  ["dist/index.cjs", 'require("stranger/sub")', "stranger"],
  ["dist/a.d.ts", 'import type { A } from "@other/stranger/sub";', "@other/stranger"],
])("%s may not import a package that npm does not install with it", (path, text, stranger) => {
  expect(faultsOf({ ...files, [path]: text })).toEqual([
    `packages/small: ${path} imports ${stranger}, which is no dependency and no peer`,
  ]);
});
