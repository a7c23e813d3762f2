/** Rows: validates the records of a file and turns them into requests. */
import type { Customer, FieldValues, IssueCardRequest } from "@loyalty-cards/issuing-client";
import { Duplicates } from "./duplicates.ts";
import { isTarget, type Mapping, type Target } from "./mapping.ts";
import type { Position, SourceRecord } from "./records.ts";
import {
  findDamage,
  findEmailProblem,
  findIdDamage,
  findInvisible,
  findPhoneProblem,
  isExact,
  LeadingZeros,
  type ProblemCode,
  parseAnswer,
  parseNumber,
  RoundedNumbers,
} from "./values.ts";

export interface Problem extends Position {
  severity: "problem" | "warning";
  code: ProblemCode;
  /** The target of the value; absent for a problem of the whole row. */
  target?: Target;
  message: string;
}

/** A valid row. */
export interface ImportRow {
  userId: string;
  request: IssueCardRequest;
}

/** A row with a problem is not sent; warnings do not prevent it. */
export interface ReadRow {
  row?: ImportRow;
  problems: Problem[];
}

export interface RowOptions {
  /** Whether values are checked for what spreadsheets do to them. */
  checkDamage: boolean;
  /** Whether two users with one phone or email each get a card. */
  allowSamePerson: boolean;
}

type Report = (code: ProblemCode, message: string, target?: Target, severity?: Problem["severity"]) => void;

const noContact = "has no phone and no email to find the customer by";
const unclearAnswer = "must be yes, true or 1, or no, false, 0 or empty";

/** Reads rows in the order of the file. Duplicates are found among the rows that one reader has read. */
export class RowReader {
  readonly #mapping: Mapping;
  readonly #options: RowOptions;
  readonly #duplicates = new Duplicates();
  readonly #roundedIds = new RoundedNumbers();
  readonly #leadingZeros = { userId: new LeadingZeros(), phone: new LeadingZeros() };

  constructor(mapping: Mapping, options: RowOptions) {
    this.#mapping = mapping;
    this.#options = options;
  }

  read(record: SourceRecord): ReadRow {
    const problems: Problem[] = [];
    const report: Report = (code, message, target, severity = "problem") => {
      const column = target === undefined ? undefined : this.#mapping.columns.get(target);
      const text = target === undefined ? message : `${target} ${message}`;
      problems.push({ ...record.locate(column), severity, code, ...(target && { target }), message: text });
    };
    if (record.malformed !== undefined) {
      report("malformed-record", `the row ${record.malformed}`);
      return { problems };
    }
    for (const name of record.members ?? []) {
      // Only members of the first record are mapped by their name.
      if (isTarget(name) && !this.#mapping.columns.has(name))
        report("unmapped", `the first record has no ${name}: add --map ${name}=${name}`);
    }
    const userId = this.#readUserId(record, report);
    const customer = this.#readCustomer(record, report);
    const fieldValues = this.#readFieldValues(record, report);
    this.#findDuplicates(record, userId, customer, report);
    if (userId === undefined || problems.some(({ severity }) => severity === "problem")) return { problems };
    return { problems, row: { userId, request: { customer, fieldValues } } };
  }

  close(): void {
    this.#duplicates.close();
  }

  get #hasContacts(): boolean {
    return this.#mapping.columns.has("phone") || this.#mapping.columns.has("email");
  }

  /** Warnings about the whole file. */
  finish(): Problem[] {
    const warnings: Problem[] = this.#options.checkDamage ? this.#findLostDigits() : [];
    if (!this.#hasContacts) {
      const message = `no column is mapped to phone or email: each row ${noContact}`;
      warnings.push({ line: 1, column: 1, severity: "warning", code: "no-contact", message });
    }
    return warnings;
  }

  #findLostDigits(): Problem[] {
    const warn = (code: ProblemCode, target: Target, text: string, position?: Position): Problem[] => {
      if (position === undefined) return [];
      const { line, column } = position;
      return [{ line, column, severity: "warning", code, target, message: `${target} ${text}` }];
    };
    const { userId, phone } = this.#leadingZeros;
    const zero = "may have lost a leading zero, which others have";
    const rounded = "may be rounded: all ids of 16 digits or more have zeros after the fifteenth";
    return [
      ...warn("lost-zero", "userId", zero, userId.find()),
      ...warn("lost-zero", "phone", zero, phone.find()),
      ...warn("lost-digits", "userId", rounded, this.#roundedIds.find()),
    ];
  }

  #readUserId(record: SourceRecord, report: Report): string | undefined {
    const value = this.#readValue(record, "userId");
    if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
    const userId = this.#readText(record, "userId", report);
    if (userId === undefined) return undefined;
    if (userId.trim() === "") report("missing", "is missing", "userId");
    else if (userId.trim() !== userId) report("spaces", "has spaces around it", "userId");
    const damage =
      findInvisible(userId.trim()) ?? (this.#options.checkDamage ? findIdDamage(userId) : undefined);
    if (damage !== undefined) report(damage.code, damage.message, "userId");
    const locate = () => this.#locate(record, "userId");
    this.#leadingZeros.userId.add(userId, locate);
    this.#roundedIds.add(userId, locate);
    return userId;
  }

  #readCustomer(record: SourceRecord, report: Report): Customer {
    const { checkDamage } = this.#options;
    const phone = this.#readText(record, "phone", report)?.trim();
    const phoneProblem = phone ? findPhoneProblem(phone, checkDamage) : undefined;
    if (phoneProblem !== undefined) report(phoneProblem.code, phoneProblem.message, "phone");
    this.#leadingZeros.phone.add(phone ?? "", () => this.#locate(record, "phone"));

    const email = this.#readText(record, "email", report)?.trim();
    const emailProblem = email ? findEmailProblem(email) : undefined;
    if (emailProblem !== undefined) report(emailProblem.code, emailProblem.message, "email");
    if (phone === "" && email === "" && this.#hasContacts)
      report("no-contact", `the row ${noContact}`, undefined, "warning");
    const name = this.#readText(record, "name", report)?.trim();
    return {
      ...(phone && { phone }),
      ...(email && { email }),
      ...(name && { name }),
      consents: {
        privacy: { version: this.#readPrivacy(record, report) ?? "" },
        ...this.#readMarketing(record, report),
      },
    };
  }

  /**
   * Reads the version of the privacy text. Without an explicit consent no card is issued
   * ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)).
   */
  #readPrivacy(record: SourceRecord, report: Report): string | undefined {
    const { privacyVersion, columns } = this.#mapping;
    if (!columns.has("privacy")) return privacyVersion;
    const answer = this.#readAnswer(record, "privacy");
    if (privacyVersion !== undefined) {
      if (answer === true) return privacyVersion;
      if (answer === undefined) report("unclear-consent", unclearAnswer, "privacy");
      else report("missing-consent", "is not accepted: a card needs this consent", "privacy");
      return undefined;
    }
    const version = this.#readText(record, "privacy", report)?.trim();
    if (version === "") report("missing-consent", "has no version: a card needs this consent", "privacy");
    else if (version !== undefined && answer !== undefined)
      report(
        "unclear-consent",
        "is yes or no, not the version of the text: add --privacy VERSION",
        "privacy",
      );
    return version;
  }

  /** Reads the marketing consent, which needs an explicit yes ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). An empty value is a no. */
  #readMarketing(record: SourceRecord, report: Report): Pick<Customer["consents"], "marketing"> {
    const { marketingVersion: version, columns } = this.#mapping;
    if (!columns.has("marketing")) return {};
    const answer = this.#readAnswer(record, "marketing");
    if (answer === undefined) report("unclear-consent", unclearAnswer, "marketing");
    return answer === true ? { marketing: version === undefined ? {} : { version } } : {};
  }

  /** @returns undefined for a value that is neither yes nor no; false for an empty value. */
  #readAnswer(record: SourceRecord, target: Target): boolean | undefined {
    const value = this.#readValue(record, target) ?? "";
    return value === "" ? false : parseAnswer(String(value));
  }

  #readFieldValues(record: SourceRecord, report: Report): FieldValues {
    const values: FieldValues = {};
    for (const target of this.#mapping.columns.keys()) {
      if (!target.startsWith("field.")) continue;
      const key = target.slice("field.".length);
      const value = this.#readValue(record, target);
      if (typeof value === "number" && isExact(value)) {
        values[key] = value;
        continue;
      }
      const text = this.#readText(record, target, report)?.trim();
      if (text === undefined || text === "") continue; // the service rejects the row if the field is required
      const number = this.#mapping.numberFields.has(key) ? parseNumber(text) : text;
      if (number === undefined)
        report("invalid-number", "is not a number such as 12 or 12.5, of at most 15 digits", target);
      else values[key] = number;
    }
    return values;
  }

  #findDuplicates(
    record: SourceRecord,
    userId: string | undefined,
    customer: Customer,
    report: Report,
  ): void {
    const { line } = record;
    const sameUser = userId ? this.#duplicates.addUser(userId, line) : undefined;
    if (sameUser !== undefined) {
      report("duplicate-user", `is also in line ${sameUser}`, "userId");
      return;
    }
    for (const target of ["phone", "email"] as const) {
      const value = customer[target];
      const first = value ? this.#duplicates.addContact(target, value, line) : undefined;
      if (first === undefined) continue;
      const message = `is also in line ${first}: one person would get two cards`;
      report("same-person", message, target, this.#options.allowSamePerson ? "warning" : "problem");
    }
  }

  #readValue(record: SourceRecord, target: Target): unknown {
    const column = this.#mapping.columns.get(target);
    return column === undefined ? undefined : record.read(column);
  }

  /** @returns `""` for an absent value, and undefined after reporting a problem. */
  #readText(record: SourceRecord, target: Target, report: Report): string | undefined {
    const value = this.#readValue(record, target) ?? "";
    if (typeof value !== "string") {
      report(
        "not-text",
        `must be a text, not ${typeof value === "object" ? "an" : "a"} ${typeof value}`,
        target,
      );
      return undefined;
    }
    const damage = this.#options.checkDamage ? findDamage(value.trim()) : undefined;
    if (damage === undefined) return value;
    report(damage.code, damage.message, target);
    return undefined;
  }

  #locate(record: SourceRecord, target: Target): Position {
    return record.locate(this.#mapping.columns.get(target));
  }
}
