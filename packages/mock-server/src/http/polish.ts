/** The sentences of a 422 in Polish, if `accept-language` prefers it. The other problems are for developers, in English. */
import { type FieldError, Problem, sentences } from "../domain/problem.ts";

type Sentence = keyof typeof sentences;

const polish: Readonly<Record<Sentence, string>> = {
  phone: "Numer telefonu jest nieprawidłowy.",
  email: "Adres e-mail jest nieprawidłowy.",
  name: "Imię jest nieprawidłowe.",
  marketing: "Wybierz, czy chcesz otrzymywać nowości i oferty.",
  privacy: "Zaakceptuj politykę prywatności.",
  form: "Ten formularz w tej chwili nie działa. Skontaktuj się ze sklepem.",
  missing: "Wypełnij pole „{label}”.",
  number: "Wpisz liczbę w polu „{label}”.",
  smallerNumber: "Wpisz mniejszą liczbę w polu „{label}”.",
  text: "Wpisz tekst w polu „{label}”.",
  textOrNumber: "Wpisz tekst lub liczbę w polu „{label}”.",
};

/** @param accepted the header `accept-language`. */
export function inLanguageOf(accepted: string | null, problem: Problem): Problem {
  if (problem.status !== 422 || !prefersPolish(accepted ?? "")) return problem;
  return Problem.invalid(problem.errors.map(toPolish));
}

/** Whether Polish has a higher quality than English, or comes first with the same (RFC 9110, section 12.5.4). */
function prefersPolish(accepted: string): boolean {
  const ranges = accepted.split(",").map((range) => {
    const [, language = "", quality = "1"] = /^\s*([a-z]+|\*)[^;]*(?:;\s*q=([\d.]+))?/i.exec(range) ?? [];
    return { language: language.toLowerCase(), quality: Number(quality) };
  });
  const known = ranges.filter(({ language, quality }) => /^(?:pl|en|\*)$/.test(language) && quality > 0);
  return known.sort((one, other) => other.quality - one.quality)[0]?.language === "pl";
}

function toPolish(error: FieldError): FieldError {
  for (const [name, english] of Object.entries(sentences)) {
    const [start = "", end = ""] = english.split("{label}");
    if (!error.detail.startsWith(start) || !error.detail.endsWith(end)) continue;
    const label = error.detail.slice(start.length, error.detail.length - end.length);
    return { ...error, detail: polish[name as Sentence].replace("{label}", () => label) };
  }
  return error;
}
