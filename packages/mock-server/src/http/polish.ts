/** The sentences of a 422 in Polish, for requests with `accept-language: pl`. The other problems are for developers, in English. */
import { type FieldError, Problem } from "../domain/problem.ts";

/** Each sentence of the domain. `$1` is the label of a field. */
const sentences: readonly [english: RegExp, polish: string][] = [
  [/^The phone number is not valid\.$/, "Numer telefonu jest nieprawidłowy."],
  [/^The email address is not valid\.$/, "Adres e-mail jest nieprawidłowy."],
  [/^The name is not valid\.$/, "Imię jest nieprawidłowe."],
  [/^Please choose whether you want news and offers\.$/, "Wybierz, czy chcesz otrzymywać nowości i oferty."],
  [/^Please accept the privacy policy\.$/, "Zaakceptuj politykę prywatności."],
  [
    /^This form does not work at the moment\. Please contact the shop\.$/,
    "Ten formularz w tej chwili nie działa. Skontaktuj się ze sklepem.",
  ],
  [/^Please fill in "(.*)"\.$/s, "Wypełnij pole „$1”."],
  [/^Please enter a number for "(.*)"\.$/s, "Wpisz liczbę w polu „$1”."],
  [/^Please enter a smaller number for "(.*)"\.$/s, "Wpisz mniejszą liczbę w polu „$1”."],
  [/^Please enter text for "(.*)"\.$/s, "Wpisz tekst w polu „$1”."],
  [/^Please enter text or a number for "(.*)"\.$/s, "Wpisz tekst lub liczbę w polu „$1”."],
];

/** @param accepted the header `accept-language`; the first language counts. */
export function inLanguageOf(accepted: string | null, problem: Problem): Problem {
  if (problem.status !== 422 || !/^\s*pl\b/i.test(accepted ?? "")) return problem;
  return Problem.invalid(problem.errors.map(toPolish));
}

function toPolish(error: FieldError): FieldError {
  const [pattern, polish] = sentences.find(([english]) => english.test(error.detail)) ?? [];
  return pattern === undefined ? error : { ...error, detail: error.detail.replace(pattern, polish ?? "") };
}
