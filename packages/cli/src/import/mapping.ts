/** Which column of a list has which part of a request: the header, and the options `--map`. */
import { findNearestName } from "@loyalty-cards/internal/known-options";
import { CommandError } from "../command-error.ts";
import type { List } from "./list.ts";

const fixedTargets = ["userId", "phone", "email", "name", "privacy", "marketing"] as const;
/** What a column is for: a part of the request, or a field of the card. */
export type Target = (typeof fixedTargets)[number] | `field.${string}`;

export interface MappingOptions {
  map?: string[];
  /**
   * The version of the privacy text that the members accepted. Without it, the column `privacy` has
   * the version.
   */
  privacy?: string;
  marketingVersion?: string;
  /** Field keys whose values are sent as numbers. */
  numberField?: string[];
  allowSamePerson?: boolean;
}

/** The column of each target that has one. */
export type Mapping = ReadonlyMap<Target, string>;

/** @throws {CommandError} when `userId` or the privacy consent has no source. */
export function parseMapping(list: List, options: MappingOptions): Mapping {
  const mapping = new Map<Target, string>();
  for (const column of list.columns) if (isTarget(column)) mapping.set(column, column);
  const given = new Set<Target>();
  for (const text of options.map ?? []) {
    const [target, column] = parseMap(text);
    if (given.has(target)) throw new CommandError(`--map ${target}=… is given twice: keep one.`);
    given.add(target);
    // Members of NDJSON can be missing in the first record.
    if (!list.isNdjson && !list.columns.includes(column))
      throw new CommandError(
        `${list.name} has no column ${quote(column)}. ${describeColumns(list)}`,
      );
    mapping.set(target, column);
  }
  requireSources(mapping, list, options);
  return mapping;
}

/** @throws {CommandError} when an option needs a column that is not mapped. */
function requireSources(mapping: Mapping, list: List, options: MappingOptions): void {
  if (!mapping.has("userId"))
    throw new CommandError(
      `No column of ${list.name} is mapped to userId: use --map userId=COLUMN. ${describeColumns(list)}`,
    );
  if (options.privacy === undefined && !mapping.has("privacy"))
    throw new CommandError(
      "There is no privacy consent: use --privacy VERSION if all members accepted that version of the text, or --map privacy=COLUMN for a column with the version.",
    );
  if (options.marketingVersion !== undefined && !mapping.has("marketing"))
    throw new CommandError(
      `--marketing-version needs a column with the answers: use --map marketing=COLUMN. ${describeColumns(list)}`,
    );
  for (const key of options.numberField ?? [])
    if (!mapping.has(`field.${key}`))
      throw new CommandError(
        `--number-field ${quote(key)}: no column of ${list.name} is mapped to field.${key}. ${describeColumns(list)}`,
      );
}

export const isTarget = (text: string): text is Target =>
  fixedTargets.some((target) => target === text) || /^field\../.test(text);

function parseMap(text: string): [Target, string] {
  const [, target = "", column = ""] = /^(.+?)=(.+)$/s.exec(text) ?? [];
  if (isTarget(target)) return [target, column];
  throw new CommandError(
    `--map ${quote(text)} must be TARGET=COLUMN, such as userId=id.${suggestTarget(target)} Targets are ${fixedTargets.join(", ")} and field.KEY.`,
  );
}

function suggestTarget(target: string): string {
  const [name = "", ...key] = target.split(".");
  const nearest = findNearestName(name, [...fixedTargets, "field"]);
  return nearest === undefined ? "" : ` Did you mean ${[nearest, ...key].join(".")}?`;
}

const quote = (text: string) => JSON.stringify(text);

/** The first line of a file without a header is personal data, and is not quoted. */
const describeColumns = ({ columns }: List): string =>
  columns.some((column) => /@|\d{5}/.test(column))
    ? "Its first line looks like data: it must be a header with the names of the columns."
    : `Its columns are ${columns.map(quote).join(", ")}.`;
