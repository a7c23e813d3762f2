/** Rules for every sample, in the pages and in the examples, that no compiler checks. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { listPages, readFromRoot } from "../snippets.ts";

const examples = readdirSync(fileURLToPath(new URL("../../../examples", import.meta.url)), {
  recursive: true,
  encoding: "utf8",
})
  .filter((file) => /\.(tsx?|mjs|sh|json|py|php)$/.test(file) && !/node_modules|\.next\b/.test(file))
  .map((file) => `examples/${file}`);
const samples = [...listPages(), ...examples];

/** The lines that match, with their file. */
const findLines = (pattern: RegExp) =>
  samples.flatMap((file) =>
    readFromRoot(file)
      .split("\n")
      .filter((line) => pattern.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );

it("a sample has no fallback for the namespace of the idempotency keys, which the client and the command read", () => {
  expect(findLines(/LOYALTY_IDEMPOTENCY_NAMESPACE\W*(\?\?|\|\||:-)/)).toEqual([]);
});

it("a sample ignores no event of a type that it handles: without unexpectedData such an event is delivered again", () => {
  expect(findLines(/\bunexpectedData: (async )?\(.*\) => (\{\}|undefined|void 0)/)).toEqual([]);
  expect(findLines(/\bif \(!isKnownEvent\(\w+\)\) return/)).toEqual([]);
});

it("a sample has no key and no secret in the arguments of a command, which other users of the machine see", () => {
  expect(findLines(/(^|\s)(-H|--header|-u|--user|--oauth2-bearer)[\s=].*(Bearer|KEY|SECRET|TOKEN)/)).toEqual(
    [],
  );
  expect(findLines(/^\s*header = "Authorization: Bearer \$LOYALTY_API_KEY"$/)).toHaveLength(2); // --config -
});
