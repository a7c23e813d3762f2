/** The exports of each entry point, types included: what a user can import, and no more. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };

const toPath = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));
const entryPoints = Object.entries(manifest.exports).flatMap(([path, conditions]) =>
  typeof conditions === "string" ? [] : [{ path, source: toPath(conditions["@loyalty-cards/source"]) }],
);

it("exports the type of each event", () => {
  const source = readFileSync(toPath("src/index.ts"), "utf8");
  const names = Object.values(openapi.webhooks).map(({ post }) =>
    post.requestBody.content["application/json"].schema.$ref.replace(/^.*\/(\w+)Event$/, "$1"),
  );
  const missing = names.filter((name) => !new RegExp(`\\b${name},`).test(source));
  expect(missing, "src/index.ts must export these types").toEqual([]);
});

it("runs the shared test suite for each adapter", () => {
  const paths = entryPoints.map(({ path }) => path.slice(2)).filter((path) => path !== "");
  const suite = readFileSync(toPath("test/every-adapter.ts"), "utf8");
  const missing = paths.filter((path) => !suite.includes(`/adapters/${path}.ts`));
  expect(missing, "test/every-adapter.ts needs a row for each of these adapters").toEqual([]);
});
