/** Mapping: which column of the file fills which member of the request, and the versions of the consent texts. */
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import { CommandError } from "../command-error.ts";
import type { RecordSource } from "./records.ts";

const fixedTargets = ["userId", "phone", "email", "name", "privacy", "marketing"] as const;
export type FixedTarget = (typeof fixedTargets)[number];
export type Target = FixedTarget | `field.${string}`;

export interface Mapping {
  /** The column of each target that has one. */
  columns: ReadonlyMap<Target, string>;
  /** The version of the privacy text that all rows accepted. Without it, the column `privacy` has the version. */
  privacyVersion: string | undefined;
  marketingVersion: string | undefined;
  /** Field keys whose values are sent as numbers. */
  numberFields: ReadonlySet<string>;
}

export interface MappingOptions {
  map?: string[];
  privacy?: string;
  marketingVersion?: string;
  numberField?: string[];
}

/** @throws {CommandError} for an unknown target or column, and when `userId` or the privacy consent has no source. */
export function resolveMapping(source: RecordSource, name: string, options: MappingOptions): Mapping {
  const { columns: names } = source;
  const columns = new Map<Target, string>();
  for (const column of names) if (isTarget(column)) columns.set(column, column);
  const known = new Set<string>();
  const duplicates = new Set(names.filter((column) => known.size === known.add(column).size));
  const mapped = new Set<Target>();
  for (const text of options.map ?? []) {
    const [target, column] = parseMap(text);
    if (mapped.has(target)) throw new CommandError(`--map ${target} is given twice.`);
    // Members of NDJSON can be missing in the first record.
    if (source.format === "csv" && !known.has(column))
      throw new CommandError(`${name} has no column ${quote(column)}. ${describeColumns(names, column)}`);
    mapped.add(target);
    columns.set(target, column);
  }
  for (const [target, column] of columns) {
    if (duplicates.has(column))
      throw new CommandError(
        `${name} has two columns ${quote(column)}, and one is mapped to ${target}: rename one.`,
      );
  }
  if (!columns.has("userId"))
    throw new CommandError(
      `No column of ${name} is mapped to userId: use --map userId=COLUMN. ${describeColumns(names, "userId")}`,
    );
  const privacyVersion = parseVersion("--privacy", options.privacy);
  if (privacyVersion === undefined && !columns.has("privacy")) {
    throw new CommandError(
      "There is no privacy consent: use --privacy VERSION if all members accepted that version of the text, or --map privacy=COLUMN for a column with the version.",
    );
  }
  const marketingVersion = parseVersion("--marketing-version", options.marketingVersion);
  if (marketingVersion !== undefined && !columns.has("marketing"))
    throw new CommandError(
      "--marketing-version needs a column that says who opted in: use --map marketing=COLUMN.",
    );
  const numberFields = new Set(options.numberField);
  for (const key of numberFields) {
    if (!columns.has(`field.${key}`))
      throw new CommandError(
        `--number-field ${key}: no column is mapped to field.${key}. Use --map field.${key}=COLUMN.`,
      );
  }
  return { columns, privacyVersion, marketingVersion, numberFields };
}

/** Returns the mapping as text, to compare it with that of an earlier run. Equal mappings have equal texts. */
export function describeMapping({
  columns,
  privacyVersion,
  marketingVersion,
  numberFields,
}: Mapping): string {
  const sorted = [...columns].sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify({
    columns: sorted,
    privacyVersion,
    marketingVersion,
    numberFields: [...numberFields].sort(),
  });
}

/** Returns the columns that the import ignores. */
export function findUnusedColumns({ columns }: RecordSource, mapping: Mapping): string[] {
  const used = new Set(mapping.columns.values());
  return columns.filter((column) => column !== "" && !used.has(column));
}

export const isTarget = (text: string): text is Target =>
  fixedTargets.some((target) => target === text) || /^field\../.test(text);

function parseMap(text: string): [Target, string] {
  const at = text.indexOf("=");
  const target = text.slice(0, Math.max(0, at));
  const column = text.slice(at + 1);
  if (at < 1 || column === "")
    throw new CommandError(`--map ${quote(text)} must be TARGET=COLUMN, such as userId=id.`);
  if (isTarget(target)) return [target, column];
  const suggestion = findNearestName(target, fixedTargets);
  throw new CommandError(
    `--map ${quote(text)}: there is no target ${quote(target)}. ${suggestion === undefined ? "" : `Did you mean ${suggestion}? `}Targets are ${fixedTargets.join(", ")} and field.KEY.`,
  );
}

function parseVersion(option: string, version: string | undefined): string | undefined {
  if (version === undefined || version.trim() !== "") return version?.trim();
  throw new CommandError(`${option} is blank: give the version label of the text.`);
}

const quote = (text: string) => JSON.stringify(text);

/** Describes the columns, and which was probably meant. The first line of a file without a header is personal data, and is not quoted. */
function describeColumns(columns: readonly string[], wanted: string): string {
  if (columns.some((column) => /@|\d{5}/.test(column)))
    return "Its first line looks like data: it must be a header with the names of the columns.";
  const suggestion = findNearestName(wanted, columns);
  const list = columns.slice(0, 30).map((column) => quote(column));
  const question = suggestion === undefined ? "" : `Did you mean ${quote(suggestion)}? `;
  return `${question}Its columns are ${list.join(", ")}${columns.length > list.length ? ", …" : ""}.`;
}
