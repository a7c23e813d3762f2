/** Of a README, the first program; and a clear sentence where there is none. */
import { expect, it } from "vitest";
import { firstSnippet } from "../first-snippet.ts";

it("is the first fence in TypeScript, not what stands before it", () => {
  const readme = "# A\n\n```sh\nnpm install a\n```\n\n```ts\nconst a = 1;\n```\n\n```ts\nconst b = 2;\n```\n";
  expect(firstSnippet("a", readme)).toBe("const a = 1;\n");
});

it("names the package whose README is missing", () => {
  expect(() => firstSnippet("a", undefined)).toThrow("packages/a has no README.md");
});

it("names the README that shows no program", () => {
  expect(() => firstSnippet("a", "# A\n\n```sh\nnpm install a\n```\n")).toThrow(
    "has no snippet in TypeScript",
  );
});
