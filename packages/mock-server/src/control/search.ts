/** Words of a search: found in any order, in any case, and without their diacritics. */

/** Letters that Unicode does not decompose into a base letter and a mark. */
const plainLetters: Readonly<Record<string, string>> = {
  ł: "l",
  ø: "o",
  đ: "d",
  ð: "d",
  ħ: "h",
  ı: "i",
  ß: "ss",
  æ: "ae",
  œ: "oe",
  þ: "th",
};

/** Converts a text to lower case, without diacritics, and with the minus of the keyboard. */
const toPlain = (text: string) =>
  text
    .toLowerCase()
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[łøđðħıßæœþ]/g, (letter) => plainLetters[letter] as string)
    .replaceAll("−", "-");

export const toWords = (text: string): string[] => toPlain(text).split(/\s+/).filter(Boolean);

/** Whether a text contains the words, of which those without digits begin a word of it. */
export function hasWords(words: readonly string[], texts: readonly unknown[]): boolean {
  if (words.length === 0) return true;
  const searched = toPlain(texts.join("\n"));
  return words.every((word) => isFound(searched, word));
}

const isLetter = (character = "") => /\p{L}/u.test(character);

function isFound(text: string, word: string): boolean {
  let at = text.indexOf(word);
  if (!/^\p{L}\D*$/u.test(word)) return at >= 0;
  while (at > 0 && isLetter(text[at - 1])) at = text.indexOf(word, at + 1);
  return at >= 0;
}
