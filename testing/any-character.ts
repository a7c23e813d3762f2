/**
 * Any character, as the unit of random strings. The unit "binary" of fast-check generates the same
 * ones, and first spends a second on a table of all of them.
 */
import fc from "fast-check";

const surrogates = { first: 0xd800, count: 0x800 };

const toCharacter = (index: number): string =>
  String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count);

/** fast-check asks which of its dangerous strings, such as `__proto__`, the unit can generate. */
function toIndex(character: unknown): number {
  const code = String(character).codePointAt(0) ?? 0;
  const index = code < surrogates.first ? code : code - surrogates.count;
  if (toCharacter(index) !== character) throw new Error("This is not one character.");
  return index;
}

export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - surrogates.count })
  .map(toCharacter, toIndex);
