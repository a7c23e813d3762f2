/** Words of a search: found in any order, in any case, and without their diacritics. */
import type { components } from "@loyalty-cards/openapi/control";

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

/** What a search looks at in an entry of a list. */
export interface SearchTexts {
  /** What its row shows. */
  shown: readonly unknown[];
  /** They are found by how they begin, if the word has their underscore. */
  ids: readonly (string | undefined)[];
  /** What its row does not show, by name. */
  hidden: Readonly<Record<string, unknown>>;
}

/** `found` is where the first of the words is that the row of the entry does not show. */
export interface Match {
  found?: components["schemas"]["Found"];
}

/** Puts entries whose rows show all words before the others. */
export const compareMatches = (a: { match: Match }, b: { match: Match }): number =>
  Number("found" in a.match) - Number("found" in b.match);

/** What can be searched. */
interface Searched {
  statuses: readonly (number | undefined)[];
  describe(): SearchTexts;
}

/**
 * Finds the entries with all words of a text. A status finds only the entries that have it, because
 * each number is also in ids and bodies.
 */
export function searchEntries<Entry extends Searched>(entries: readonly Entry[], text: string) {
  const words = toWords(text);
  const isStatus = (word: string) => /^[2-5]\d\d$/.test(word);
  const statuses = words.filter(isStatus).map(Number);
  const others = words.filter((word) => !isStatus(word));
  return entries.flatMap((entry) => {
    if (!statuses.every((status) => entry.statuses.includes(status))) return [];
    const match = others.length === 0 ? {} : findWords(others, entry.describe());
    return match === undefined ? [] : [{ entry, match }];
  });
}

/** @returns undefined when one of the words is missing. */
export function findWords(words: readonly string[], texts: SearchTexts): Match | undefined {
  const shown = toPlain(texts.shown.join("\n"));
  const match: Match = {};
  for (const word of words) {
    if (indexOfWord(shown, word) >= 0 || isStartOfId(texts.ids, word)) continue;
    const found = findHidden(texts.hidden, word);
    if (found === undefined) return undefined;
    match.found ??= found;
  }
  return match;
}

const isStartOfId = (ids: SearchTexts["ids"], word: string) =>
  word.includes("_") && ids.some((id) => id?.toLowerCase().startsWith(word));

/** How many characters before and after a word are quoted. */
const maxBefore = 12;
const maxAfter = 100;

function findHidden(hidden: SearchTexts["hidden"], word: string): Match["found"] {
  for (const [name, value] of Object.entries(hidden)) {
    if (value === undefined) continue;
    const text = String(value);
    const plain = toPlain(text);
    const start = indexOfWord(plain, word);
    if (start < 0) continue;
    // In a text of another length the word stands somewhere else.
    const quoted = plain.length === text.length ? text : plain;
    const end = start + word.length;
    return {
      in: name,
      before: (start > maxBefore ? "…" : "") + quoted.slice(Math.max(0, start - maxBefore), start),
      text: quoted.slice(start, end),
      after: quoted.slice(end, end + maxAfter),
    };
  }
  return undefined;
}

const isLetter = (character = "") => /\p{L}/u.test(character);

/**
 * Finds a word that begins with a letter and has no digit only where a word of the text begins.
 * Others, such as the end of a phone number, are found anywhere.
 */
function indexOfWord(text: string, word: string): number {
  const mustBeginWord = /^\p{L}\D*$/u.test(word);
  let at = text.indexOf(word);
  while (mustBeginWord && at > 0 && isLetter(text[at - 1])) at = text.indexOf(word, at + 1);
  return at;
}
