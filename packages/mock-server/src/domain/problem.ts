/**
 * Problems of requests to the API (spec 7): why a request is rejected, and the sentences about its
 * values that a visitor reads.
 */
import type { Validator } from "@loyalty-cards/openapi/validators";
import type { FieldError } from "./errors.ts";
import { explainSchemaError, unescapePointer } from "./validation.ts";

/**
 * Why the service rejects a request to the API: what an error response says. It is returned as the
 * failure of a `Result`; mistakes of a caller of the service object are thrown.
 */
export interface Problem {
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly FieldError[];
}

export const createProblem = (status: number, detail: string): Problem => ({
  status,
  detail,
  errors: [],
});

/**
 * A 422: `detail` may be shown to the user ([spec
 * 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)), so it consists of the
 * sentences of all errors, each once.
 */
export function createValidationProblem(allErrors: readonly FieldError[]): Problem {
  const errors = allErrors.slice(0, maxErrors);
  const details = new Set(errors.map(({ detail }) => detail));
  return { status: 422, detail: [...details].join(" "), errors };
}

/** What a visitor reads about a rejected value. `{label}` is the label of the field. */
const sentences = {
  phone: "The phone number is not valid.",
  email: "The email address is not valid.",
  name: "The name is not valid.",
  marketing: "Please choose whether you want news and offers.",
  privacy: "Please accept the privacy policy.",
  // A visitor cannot correct it: the program that sends the form is wrong. `rule` names the
  // mistake.
  form: "This form does not work at the moment. Please contact the shop.",
  missing: "{label} is required.",
  number: 'Please enter a number for "{label}".',
  smallerNumber: 'Please enter a smaller number for "{label}".',
  text: 'Please enter text for "{label}".',
  textOrNumber: 'Please enter text or a number for "{label}".',
} as const;

export type Sentence = keyof typeof sentences;

/** A field error in a response of the API. */
export const createFieldError = (pointer: string, sentence: Sentence, label = ""): FieldError => ({
  pointer,
  detail: sentences[sentence].replace("{label}", () => label),
});

/** The sentence of a pointer. The first match counts; without one the sentence is `form`. */
const sentenceByPointer: readonly [RegExp, Sentence][] = [
  [/^\/customer\/phone$/, "phone"],
  [/^\/customer\/email$/, "email"],
  [/^\/customer\/name$/, "name"],
  [/^\/customer\/consents\/marketing|^\/marketing$/, "marketing"],
  [/^\/customer\/consents/, "privacy"],
  [/^\/fieldValues\//, "textOrNumber"],
];

/**
 * A body of a megabyte can have tens of thousands of wrong values, and a stored refusal keeps its
 * errors for a day.
 */
const maxErrors = 100;

/** @param getLabel returns the name that people see for the field with this key. */
export function toFieldErrors(
  validator: Validator<unknown>,
  getLabel: (key: string) => string = (key) => key,
): FieldError[] {
  return (validator.errors ?? []).map((error) => {
    const { pointer, rule } = explainSchemaError(error);
    const [, key] = /^\/fieldValues\/(.*)$/s.exec(pointer) ?? [];
    const label = key && getLabel(unescapePointer(key));
    const [, sentence] = sentenceByPointer.find(([pattern]) => pattern.test(pointer)) ?? [];
    return { ...createFieldError(pointer, sentence ?? "form", label), rule };
  });
}
