/** Turns a record of a list into the request for a card, or into what is wrong with it. */
import type { Result } from "@loyalty-cards/internal/result";
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import { readConsents } from "./consents.ts";
import { findDuplicates, type ListIndex, toUniqueValues } from "./duplicates.ts";
import { readFieldValues } from "./field-values.ts";
import { readIdentity } from "./identity.ts";
import type { ListRecord } from "./list.ts";
import {
  combine,
  type MappedRecord,
  type RowProblem,
  readValue,
  toProblem,
} from "./mapped-record.ts";
import { isTarget, type Mapping, type MappingOptions } from "./mapping.ts";

export interface ImportRow {
  userId: string;
  request: IssueCardRequest;
}

export interface InvalidRow {
  /** The user id as the list has it; empty when there is none. */
  userId: string;
  problems: readonly RowProblem[];
}

/** @param index the rows that were read before; the row is added. */
export function readRow(
  record: ListRecord,
  mapping: Mapping,
  options: MappingOptions,
  index: ListIndex,
): Result<ImportRow, InvalidRow> {
  const mapped: MappedRecord = { record, mapping };
  const fail = (problems: readonly RowProblem[]) => ({
    failure: { userId: String(readValue(mapped, "userId")), problems },
  });
  const malformed = record.malformed ?? findRepeatedHeader(mapped);
  if (malformed !== undefined) return fail([toProblem(mapped, "malformed-record", malformed)]);

  const identity = readIdentity(mapped);
  const uniqueValues = toUniqueValues(identity, options);
  const row = combine(
    {
      ...identity,
      consents: readConsents(mapped, options),
      fieldValues: readFieldValues(mapped, options),
    },
    [...findDuplicates(mapped, uniqueValues, index), ...findUnmapped(mapped)],
  );
  index.add(uniqueValues, record.line, row.failure === undefined);
  if (row.failure !== undefined) return fail(row.failure);
  const { userId, fieldValues, ...customer } = row.value;
  return { value: { userId, request: { customer, fieldValues } } };
}

/** Finds a row that repeats the header, as in a list that was put together from several. */
function findRepeatedHeader(mapped: MappedRecord): string | undefined {
  const targets = [...mapped.mapping];
  const isHeader = targets.every(([target, column]) => readValue(mapped, target) === column);
  return isHeader ? "is the header again: remove the line" : undefined;
}

/** Finds members of a record of NDJSON that the first record does not have. */
function findUnmapped(mapped: MappedRecord): RowProblem[] {
  const names = [...mapped.record.values.keys()];
  return names
    .filter((name) => isTarget(name) && !mapped.mapping.has(name))
    .map((name) => toProblem(mapped, "unmapped", `has ${name}: add --map ${name}=${name}`));
}
