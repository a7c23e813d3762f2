/** Turns the records of a list into requests by the mapping of its columns, and finds what is wrong with them. Problems never quote a value: it can be personal data. */
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import type { FieldValues, IssueCardRequest } from "@loyalty-cards/issuing-client";
import { CommandError } from "../command-error.ts";
import type { List, ListRecord } from "./list.ts";

const fixedTargets = ["userId", "phone", "email", "name", "privacy", "marketing"] as const;
type Target = (typeof fixedTargets)[number] | `field.${string}`;

export interface MappingOptions {
  map?: string[];
  /** The version of the privacy text that the members accepted. Without it, the column `privacy` has the version. */
  privacy?: string;
  marketingVersion?: string;
  /** Field keys whose values are sent as numbers. */
  numberField?: string[];
  allowSamePerson?: boolean;
}

/** @returns the column of each target that has one. @throws {CommandError} when `userId` or the privacy consent has no source. */
export function parseMapping(list: List, options: MappingOptions): ReadonlyMap<Target, string> {
  const columns = new Map<Target, string>();
  for (const column of list.columns) if (isTarget(column)) columns.set(column, column);
  for (const text of options.map ?? []) {
    const [target, column] = parseMap(text);
    // Members of NDJSON can be missing in the first record.
    if (!list.isNdjson && !list.columns.includes(column))
      throw new CommandError(`${list.name} has no column ${quote(column)}. ${describeColumns(list)}`);
    columns.set(target, column);
  }
  if (!columns.has("userId"))
    throw new CommandError(
      `No column of ${list.name} is mapped to userId: use --map userId=COLUMN. ${describeColumns(list)}`,
    );
  if (!options.privacy?.trim() && !columns.has("privacy"))
    throw new CommandError(
      "There is no privacy consent: use --privacy VERSION if all members accepted that version of the text, or --map privacy=COLUMN for a column with the version.",
    );
  if (options.marketingVersion !== undefined && !columns.has("marketing"))
    throw new CommandError(
      `--marketing-version needs a column with the answers: use --map marketing=COLUMN. ${describeColumns(list)}`,
    );
  for (const key of options.numberField ?? [])
    if (!columns.has(`field.${key}`))
      throw new CommandError(
        `--number-field ${quote(key)}: no column of ${list.name} is mapped to field.${key}. ${describeColumns(list)}`,
      );
  return columns;
}

const isTarget = (text: string): text is Target =>
  fixedTargets.some((target) => target === text) || /^field\../.test(text);

function parseMap(text: string): [Target, string] {
  const [, target = "", column = ""] = /^(.+?)=(.+)$/s.exec(text) ?? [];
  if (isTarget(target)) return [target, column];
  throw new CommandError(
    `--map ${quote(text)} must be TARGET=COLUMN, such as userId=id. Targets are ${fixedTargets.join(", ")} and field.KEY.`,
  );
}

const quote = (text: string) => JSON.stringify(text);

/** The first line of a file without a header is personal data, and is not quoted. */
const describeColumns = ({ columns }: List): string =>
  columns.some((column) => /@|\d{5}/.test(column))
    ? "Its first line looks like data: it must be a header with the names of the columns."
    : `Its columns are ${columns.map(quote).join(", ")}.`;

export interface Problem {
  line: number;
  column: number;
  code: string;
  /** The target of the value; undefined for a problem of the whole row. */
  target: Target | undefined;
  message: string;
}

export interface ImportRow {
  userId: string;
  request: IssueCardRequest;
}

/** The problems of a row; when there are none, its request. */
export interface ReadRow {
  problems: Problem[];
  row?: ImportRow;
}

/** What spreadsheets and exports of databases make of a value. */
const damages: readonly (readonly [code: string, pattern: RegExp, message: string])[] = [
  [
    "scientific-notation",
    /^[+-]?\d(?:[.,]\d+)?E[+-]\d+$/i,
    "is in scientific notation: a spreadsheet changed it",
  ],
  ["spreadsheet-error", /^#(?:N\/A|[A-Z/0]+[!?])$/, "is an error value of a spreadsheet"],
  ["null-text", /^(?:NULL|\\N|undefined)$/, "is a text for an absent value: leave it empty"],
  ["lost-characters", /\ufffd/, "has lost characters (U+FFFD): export it again as UTF-8"],
];

/** Everything else is a problem, because a wrong guess would be a consent that was not given. */
const parseAnswer = (text: string): boolean | undefined =>
  /^(?:yes|true|1)$/i.test(text) ? true : /^(?:no|false|0)?$/i.test(text) ? false : undefined;
const unclear = "must be yes, true or 1, or no, false, 0 or empty";

/** @param columns those of the targets. @param index the valid rows that were read before; a valid row is added. */
export function readRow(
  record: ListRecord,
  columns: ReadonlyMap<Target, string>,
  options: MappingOptions,
  index: ListIndex,
): ReadRow {
  const problems: Problem[] = [];
  function report(code: string, message: string, target?: Target): void {
    const position = record.locate(target && columns.get(target));
    problems.push({ ...position, code, target, message: `${target ?? "the row"} ${message}` });
  }
  const readValue = (target: Target): unknown => record.values.get(columns.get(target) ?? "") ?? "";
  function readText(target: Target): string {
    const value = readValue(target);
    if (typeof value === "object" || (typeof value === "number" && !Number.isSafeInteger(value)))
      report("not-text", "must be a text", target);
    const text = String(value).trim();
    const [code, , message = ""] = damages.find(([, pattern]) => pattern.test(text)) ?? [];
    if (code !== undefined) report(code, message, target);
    return text;
  }
  /** Two values can look the same and differ in an invisible character. */
  function readKey(target: Target, isValid: (text: string) => boolean, message: string): string {
    const before = problems.length;
    const text = readText(target);
    const character = /[\p{Cc}\p{Cf}]/u.exec(text)?.[0].charCodeAt(0).toString(16).toUpperCase();
    if (character !== undefined)
      report("invisible", `has an invisible character (U+${character.padStart(4, "0")}): remove it`, target);
    else if (text !== "" && problems.length === before && !isValid(text))
      report(`invalid-${target}`, message, target);
    return text;
  }

  if (record.malformed !== undefined) {
    report("malformed-record", record.malformed);
    return { problems };
  }
  for (const name of record.values.keys())
    if (isTarget(name) && !columns.has(name)) report("unmapped", `has ${name}: add --map ${name}=${name}`);
  const userId = readKey("userId", isUserId, "is too long or not Unicode");
  if (userId === "") report("missing", "is missing", "userId");
  const phone = readKey("phone", isPhone, "is not a phone number");
  const email = readKey("email", isEmail, "is not an email address");
  const name = readText("name");

  // Consents are explicit: without one to the privacy text there is no card (spec 2.4).
  const privacy = columns.has("privacy") ? readText("privacy") : "yes";
  const isAccepted = parseAnswer(privacy);
  if (privacy === "" || (isAccepted === false && options.privacy))
    report("missing-consent", "is not accepted: a card needs this consent", "privacy");
  else if (options.privacy && isAccepted === undefined) report("unclear-consent", unclear, "privacy");
  else if (!options.privacy && isAccepted !== undefined)
    report("unclear-consent", "is yes or no, and not the version: add --privacy VERSION", "privacy");
  const optsIn = parseAnswer(readText("marketing"));
  if (optsIn === undefined) report("unclear-consent", unclear, "marketing");
  const consents = {
    privacy: { version: options.privacy || privacy },
    ...(optsIn && { marketing: options.marketingVersion ? { version: options.marketingVersion } : {} }),
  };

  const fieldValues: FieldValues = {};
  for (const target of columns.keys()) {
    const [, key] = /^field\.(.+)$/.exec(target) ?? [];
    const value = readValue(target);
    if (key === undefined || value === "") continue; // the service rejects the row if the field is required
    const isNumber = typeof value === "number" || options.numberField?.includes(key) === true;
    const text = typeof value === "number" ? String(value) : readText(target);
    if (isNumber && !(/^-?\d+(?:\.\d+)?$/.test(text) && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER))
      report("invalid-number", "is not a number such as 12 or 12.5, of at most 15 digits", target);
    fieldValues[key] = isNumber ? Number(text) : text;
  }

  // Two users with one phone or email are one customer of the service. Phones are compared without their spelling.
  const keys: [Target, string][] = [["userId", toUserKey(userId)]];
  if (!options.allowSamePerson) {
    if (phone !== "") keys.push(["phone", phone.replace(/\(0\)|[^\d+]/g, "").replace(/^00/, "+")]);
    if (email !== "") keys.push(["email", email.toLowerCase()]);
  }
  for (const [target, key] of keys) {
    const line = index.find(key);
    const advice = target === "userId" ? "" : ": one person would get two cards (see --allow-same-person)";
    if (line !== undefined) report("duplicate", `is also in line ${line}${advice}`, target);
  }
  if (problems.length > 0) return { problems };
  for (const [, key] of keys) index.add(key, record.line);
  return { problems, row: { userId, request: { customer: { phone, email, name, consents }, fieldValues } } };
}

export const toUserKey = (userId: string) => `user ${userId}`;
const isUserId = (text: string) => text.length <= 255 && text.isWellFormed();
const isPhone = (text: string) => /^(?:\+|00)?\d{4,15}$/.test(text.replace(/[\s().\-/]/g, ""));
const isEmail = (text: string) =>
  text.length <= 254 && /^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@.,;<>"]+$/.test(text);

export type ListIndex = ReturnType<typeof createIndex>;

/** The line of each valid row by its user, phone and email, in a temporary file of SQLite: memory does not grow with the list. */
export function createIndex() {
  const database = openSqlite("");
  database.exec("PRAGMA temp_store = FILE"); // libsql would keep the table in memory
  database.exec("PRAGMA temp.journal_mode = OFF");
  database.exec("CREATE TEMP TABLE lines (key TEXT PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID; BEGIN");
  const insert = database.prepare("INSERT INTO lines VALUES (?, ?)");
  const select = database.prepare("SELECT line FROM lines WHERE key = ?");
  return {
    add: (key: string, line: number) => insert.run(key, line),
    find: (key: string) => (select.get(key) as { line: number } | undefined)?.line,
    close: () => database.close(),
  };
}
