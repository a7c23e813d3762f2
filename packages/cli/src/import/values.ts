/** Values of a row: contacts, ids and consents, and the damage that spreadsheets do to them. Problems never quote a value: it can be personal data. */
import type { Position } from "./records.ts";

/** What is wrong with a value. */
export interface ValueProblem {
  code: ProblemCode;
  message: string;
}

export type ProblemCode =
  | "malformed-record"
  | "missing"
  | "spaces"
  | "invisible"
  | "not-text"
  | "scientific-notation"
  | "lost-plus"
  | "lost-zero"
  | "lost-digits"
  | "date"
  | "spreadsheet-error"
  | "null-text"
  | "lost-characters"
  | "invalid-phone"
  | "invalid-email"
  | "invalid-number"
  | "unclear-consent"
  | "missing-consent"
  | "duplicate-user"
  | "same-person"
  | "unmapped"
  | "unknown-column"
  | "no-contact";

/** Codes of damage by spreadsheets. */
export const damageCodes: readonly string[] = [
  "scientific-notation",
  "lost-plus",
  "lost-zero",
  "lost-digits",
  "date",
  "spreadsheet-error",
] satisfies ProblemCode[];

/** Finds damage that a value of any column can have. */
export function findDamage(text: string): ValueProblem | undefined {
  if (/^#(?:N\/A|NAME\?|REF!|VALUE!|NULL!|NUM!|DIV\/0!)/.test(text))
    return { code: "spreadsheet-error", message: "is an error value of a spreadsheet" };
  if (/^(?:NULL|\\N|undefined)$/.test(text))
    return { code: "null-text", message: "is a text for an absent value: leave it empty" };
  if (text.includes("\ufffd"))
    return { code: "lost-characters", message: "has lost characters (U+FFFD): export it again as UTF-8" };
  return undefined;
}

/** Finds an invisible character other than a space, with which two different ids or emails look the same. */
export const findInvisible = (text: string): ValueProblem | undefined =>
  /[\p{Cc}\p{Cf}]/u.test(text)
    ? { code: "invisible", message: "has an invisible character: remove it" }
    : undefined;

/** Finds damage to a user id. */
export function findIdDamage(text: string): ValueProblem | undefined {
  if (isScientific(text)) return scientificProblem;
  const isDate = /^\d{1,4}([./-])\d{1,2}\1\d{1,4}$/.test(text) || monthPattern.test(text);
  return isDate ? { code: "date", message: "looks like a date" } : undefined;
}

const monthPattern =
  /^(?:\d{1,2}[-. ]+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:[- ]\d{2,4})?$/i;

const isScientific = (text: string) => /^[+-]?\d(?:[.,]\d+)?E[+-]\d+$/i.test(text);

const scientificProblem: ValueProblem = {
  code: "scientific-notation",
  message: "is in scientific notation and has lost digits",
};

/** @param checkDamage false for files whose phones are local numbers of 11 digits or more. */
export function findPhoneProblem(text: string, checkDamage: boolean): ValueProblem | undefined {
  if (isScientific(text)) return scientificProblem;
  const digits = text.replace(/[\s().\-/]/g, "");
  if (!/^(?:\+|00)?\d{4,15}$/.test(digits))
    return { code: "invalid-phone", message: "is not a phone number" };
  if (checkDamage && /^[1-9]\d{10,}$/.test(digits)) {
    return {
      code: "lost-plus",
      message: "has 11 digits or more, and neither + nor 0 before them",
    };
  }
  return undefined;
}

export function findEmailProblem(text: string): ValueProblem | undefined {
  const invisible = findInvisible(text);
  if (invisible !== undefined) return invisible;
  if (text.length <= 254 && /^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@.,;<>"]+$/.test(text)) return undefined;
  return { code: "invalid-email", message: "is not an email address" };
}

/** The values of a column with yes or no. Everything else is an error, because a wrong guess would be a consent that was not given. */
const answers: Readonly<Record<string, boolean>> = {
  yes: true,
  true: true,
  "1": true,
  no: false,
  false: false,
  "0": false,
};

/** @returns undefined for a text that is neither yes nor no. */
export const parseAnswer = (text: string): boolean | undefined => answers[text.trim().toLowerCase()];

/** Whether a number has all of its digits: larger numbers are rounded when JSON is parsed. */
export const isExact = (value: number): boolean => Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** @returns undefined for a text that is not a decimal number, or that is too large to be exact. */
export function parseNumber(text: string): number | undefined {
  return /^-?\d+(?:\.\d+)?$/.test(text) && isExact(Number(text)) ? Number(text) : undefined;
}

/** Finds columns in which some values begin with a zero, and other values have lost it. */
export class LeadingZeros {
  #withZeroLength: number | undefined;
  #firstShort: ({ length: number } & Position) | undefined;

  /** @param locate called for the first value that may have lost its zero. */
  add(text: string, locate: () => Position): void {
    if (!/^\d+$/.test(text)) return;
    if (text.startsWith("0")) this.#withZeroLength = Math.max(this.#withZeroLength ?? 0, text.length);
    else if (this.#firstShort === undefined || text.length < this.#firstShort.length)
      this.#firstShort = { length: text.length, ...locate() };
  }

  /** Returns the position of a value that is shorter than those that begin with a zero. */
  find(): Position | undefined {
    if (this.#withZeroLength === undefined || this.#firstShort === undefined) return undefined;
    return this.#firstShort.length < this.#withZeroLength ? this.#firstShort : undefined;
  }
}

/** Finds columns whose long numbers all have zeros after the fifteenth digit: spreadsheets store no more digits. */
export class RoundedNumbers {
  #first: Position | undefined;
  #hasOthers = false;

  /** @param locate called for the first value that may be rounded. */
  add(text: string, locate: () => Position): void {
    if (!/^\d{16,}$/.test(text)) return;
    if (/^[1-9]\d{14}0+$/.test(text)) this.#first ??= locate();
    else this.#hasOthers = true;
  }

  /** Returns the position of the first rounded value. */
  find(): Position | undefined {
    return this.#hasOthers ? undefined : this.#first;
  }
}
