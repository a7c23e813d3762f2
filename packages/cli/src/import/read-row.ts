/** Turns each record of a list into the request for a card, or into what is wrong with it. */
import { formatNumber } from "@loyalty-cards/internal/format";
import type { Result } from "@loyalty-cards/internal/result";
import type { FieldValues } from "@loyalty-cards/issuing-client";
import type { Context } from "../command.ts";
import { readConsents } from "./consents.ts";
import { readIdentity } from "./identity.ts";
import type { List, ListRecord } from "./list.ts";
import { findDuplicates, type ListIndex, toKeys } from "./list-index.ts";
import {
  isTarget,
  type Mapping,
  type MappingOptions,
  parseMapping,
  type Target,
} from "./mapping.ts";
import { type ImportRow, Row, type RowProblem, toText } from "./row.ts";

export interface InvalidRow {
  /** The user id as the list has it; empty when there is none. */
  userId: string;
  problems: readonly RowProblem[];
}

/**
 * Yields each row that was read.
 * @param index gets the rows.
 * @throws {CommandError} for a list that cannot be read as a whole.
 */
export async function* readRows(
  { print }: Context,
  list: List,
  options: MappingOptions,
  index: ListIndex,
): AsyncGenerator<Result<ImportRow, InvalidRow>, void> {
  const mapping = parseMapping(list, options);
  // These are names and not personal data: a file without a header was rejected.
  const unused = list.columns
    .filter((column) => ![...mapping.values()].includes(column))
    .map((column) => column || "one without a name");
  if (unused.length > 0) print.info(`Columns that are not used: ${unused.join(", ")}`);
  const fields = [...mapping.keys()].filter((target) => target.startsWith("field."));
  print.info(
    fields.length > 0
      ? `Fields of the card: ${fields.join(", ").replaceAll("field.", "")}. Check their spelling: only the service knows the fields of the template.`
      : "No column is mapped to field.KEY: the cards will have no field values. If the template has fields, add for example --map field.name=name.",
  );
  for await (const record of list.records) {
    if (record.line % 10_000 === 0) print.status(`Reading  line ${formatNumber(record.line)}`);
    yield readRow(record, mapping, options, index);
  }
  print.status(undefined);
}

/** @param index the rows that were read before; the row is added. */
function readRow(
  record: ListRecord,
  mapping: Mapping,
  options: MappingOptions,
  index: ListIndex,
): Result<ImportRow, InvalidRow> {
  const row = new Row(record, mapping);
  const malformed = record.malformed ?? findRepeatedHeader(row);
  if (malformed !== undefined) {
    row.addProblem({ code: "malformed-record", message: malformed });
    // A user who has a card is still in the list.
    const userId = toText(row.getValue("userId")).trim();
    index.addRow(toKeys({ userId }, options), row.line, false);
    return toInvalid(row);
  }
  const identity = readIdentity(row);
  const consents = readConsents(row, options);
  const fieldValues = readFieldValues(row, options);
  rejectUnmapped(row, record);
  const keys = toKeys(identity, options);
  for (const { target, ...problem } of findDuplicates(keys, index)) row.addProblem(problem, target);
  const isValid = row.problems.length === 0;
  index.addRow(keys, row.line, isValid);
  if (!isValid) return toInvalid(row);
  const { userId = "", ...customer } = identity;
  return { value: { userId, request: { customer: { ...customer, consents }, fieldValues } } };
}

const toInvalid = (row: Row): { failure: InvalidRow } => ({
  failure: { userId: toText(row.getValue("userId")), problems: row.problems },
});

/** Finds a row that repeats the header, as in a list that was put together from several. */
function findRepeatedHeader(row: Row): string | undefined {
  const isHeader = [...row.mapping].every(([target, column]) => row.getValue(target) === column);
  return isHeader ? "is the header again: remove the line" : undefined;
}

/** Rejects members of a record of NDJSON that the first record does not have. */
function rejectUnmapped(row: Row, { values }: ListRecord): void {
  for (const name of values.keys()) {
    if (!isTarget(name) || row.mapping.has(name)) continue;
    row.addProblem({ code: "unmapped", message: `has ${name}: add --map ${name}=${name}` });
  }
}

function readFieldValues(row: Row, { numberField = [] }: MappingOptions): FieldValues {
  const fieldValues: Record<string, string | number> = {};
  for (const target of row.mapping.keys()) {
    const [, key] = /^field\.(.+)$/.exec(target) ?? [];
    if (key === undefined) continue;
    const isNumber = typeof row.getValue(target) === "number" || numberField.includes(key);
    const value = isNumber ? readNumber(row, target) : row.readText(target);
    // An empty value is left out: the service rejects the row if the field is required.
    if (value !== undefined && value !== "") fieldValues[key] = value;
  }
  return fieldValues;
}

/** @returns undefined for an empty value, and for one with a problem, which is added. */
function readNumber(row: Row, target: Target): number | undefined {
  const value = row.getValue(target);
  const text = typeof value === "number" ? String(value) : row.readText(target);
  if (text === undefined || text === "") return undefined;
  const number = Number(text);
  const isDecimal = /^-?\d+(?:\.\d+)?$/.test(text);
  if (isDecimal && Math.abs(number) <= Number.MAX_SAFE_INTEGER) return number;
  const message = "is not a number such as 12 or 12.5, of at most 15 digits";
  row.addProblem({ code: "invalid-number", message }, target);
  return undefined;
}
