/** Mapping: which column of the list fills which member of the request, and the versions of the consent texts. */
import { CommandError } from "../command-error.ts";
import type { List } from "./list.ts";

const fixedTargets = ["userId", "phone", "email", "name", "privacy", "marketing"] as const;
export type Target = (typeof fixedTargets)[number] | `field.${string}`;

export interface MappingOptions {
  /** `TARGET=COLUMN`. */
  map?: string[];
  /** The version of the privacy text that the members accepted. Without it, the column `privacy` has the version. */
  privacy?: string;
  marketingVersion?: string;
  /** Field keys whose values are sent as numbers. */
  numberField?: string[];
  /** Whether users that share a phone or email each get a card. */
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
  if (!options.privacy && !columns.has("privacy"))
    throw new CommandError(
      "There is no privacy consent: use --privacy VERSION if all members accepted that version of the text, or --map privacy=COLUMN for a column with the version.",
    );
  if (options.marketingVersion && !columns.has("marketing"))
    throw new CommandError(
      "--marketing-version needs a column that says who opted in: use --map marketing=COLUMN.",
    );
  return columns;
}

export const isTarget = (text: string): text is Target =>
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
