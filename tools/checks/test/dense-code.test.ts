import { describe, expect, it } from "vitest";
import { findDenseCode } from "../dense-code.ts";

const filler = "x".repeat(90);
const lines = (count: number) => "  f();\n".repeat(count);

describe("dense code", () => {
  it.each([
    ["a long comment", `// ${filler} ${filler}`],
    ["a long statement", `const ${filler} = ${filler};`],
    ["long SQL", `const text = \`SELECT ${filler} FROM t WHERE 1\`;`],
    ["a tag after a sentence", "/** Reads it. @returns a number. */"],
    ["an object spread into another one", "const a = { ...{ b, c }, d };"],
    ["an array spread into another one", "f([...[a, b], c]);"],
    ["a function of 61 lines", `function f() {\n${lines(59)}}`],
  ])("is found: %s", (_, text) => {
    expect(findDenseCode(text)).toHaveLength(1);
  });

  it.each([
    ["an address", `// https://example.com/${filler}`],
    ["the text of a message", `throw new Error("${filler} ${filler}");`],
    ["a tag at the start of a line", "/**\n * Reads it.\n * @returns a number.\n */"],
    ["a variable spread into a literal", "const a = { ...b, c: [...d] };"],
    ["a function of 60 lines", `function f() {\n${lines(58)}}`],
    [
      "a function of 60 lines around another",
      `function f() {\n${lines(57)}const g = () => {\n${lines(50)}};}`,
    ],
  ])("is not: %s", (_, text) => {
    expect(findDenseCode(text)).toEqual([]);
  });
});
