/** The language of a 422: every sentence in Polish, and which language `accept-language` chooses. */
import { expect, it } from "vitest";
import { createFieldError, Problem, sentences } from "../src/domain/problem.ts";
import { inLanguageOf } from "../src/http/polish.ts";
import { openShop, signUp } from "./shop.ts";

const names = Object.keys(sentences) as (keyof typeof sentences)[];

it.each(names)("has a Polish sentence for %s, with the label of the field", (name) => {
  const label = 'the "$&" of the shop';
  const english = createFieldError("/fieldValues/x", "format", name, label);
  const { detail, errors } = inLanguageOf("pl", Problem.invalid([english]));
  expect(errors).toEqual([{ ...english, detail }]);
  expect(detail.includes(label)).toBe(english.detail.includes(label));
  const words = (text: string): string[] =>
    text
      .replace(label, "")
      .toLowerCase()
      .match(/\p{L}{3,}/gu) ?? [];
  expect(words(detail).filter((word) => words(english.detail).includes(word))).toEqual([]);
});

it.each([
  ["pl", true],
  ["PL-pl, en;q=0.5", true],
  ["en;q=0.8, pl;q=0.9", true],
  ["de, pl;q=0.8, en;q=0.7", true],
  ["pl, en", true],
  ["en, pl", false],
  ["pl;q=0.5, en", false],
  ["pl; q=0.5, *", false],
  ["pl;q=0", false],
  ["plt", false],
  ["de", false],
  ["", false],
  [";;,q=pl", false],
])("responds to accept-language %j in Polish: %s", async (accepted, isPolish) => {
  const { body } = await openShop().issue(signUp({ phone: "12" }), { "accept-language": accepted });
  const [polish, english] = ["Numer telefonu jest nieprawidłowy.", sentences.phone];
  expect(body.errors).toEqual([
    { pointer: "/customer/phone", detail: isPolish ? polish : english, reason: "format" },
  ]);
});
