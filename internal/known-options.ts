/** Refuses an unknown name of an option or a member, and finds the one that was probably meant. */

/** The names of an options type; of a union, those of all its members. */
type OptionName<Options> = Options extends unknown ? keyof Options & string : never;

/**
 * The names of the options of a type, which a program without types can misspell. The compiler
 * reports a name that is missing, and one that the type does not have.
 */
export type OptionNames<Options> = Readonly<Record<OptionName<Options>, true>>;

/** How an unknown name is reported. */
interface UnknownName {
  /** What it is the name of. Default: an option. */
  noun?: "option" | "member";
  /** Creates what is thrown. Default: a `TypeError`. */
  toError?: (message: string) => Error;
}

/**
 * Reports an option or a member that would be ignored silently, with the name that was probably
 * meant.
 * @param owner the function whose options these are, or the object: it begins the message.
 */
export function requireKnownNames(
  owner: string,
  options: object,
  names: Readonly<Record<string, true>>,
  { noun = "option", toError = (message) => new TypeError(message) }: UnknownName = {},
): void {
  // Refuses a list, a signal or a promise, which would pass as options without names. The namespace
  // of `import * as options` is allowed.
  if (!/ (Object|Module)\]$/.test(Object.prototype.toString.call(options)))
    throw toError(`${owner} takes an object: { ${Object.keys(names).join(", ")} }.`);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) throw toError(describeUnknownName(owner, unknown, { names, noun }));
}

/** Says which name is unknown, which one was probably meant, and which ones there are. */
export function describeUnknownName(
  owner: string,
  unknown: string,
  { names, noun }: { names: object; noun: "option" | "member" },
): string {
  const known = Object.keys(names);
  const nearest = findNearestName(unknown, known);
  const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
  return `${owner} has no ${noun} ${JSON.stringify(unknown.slice(0, 50))}.${hint} Its ${noun}s are ${known.join(", ")}.`;
}

/**
 * Returns the most similar candidate, if at most two fifths of its letters and digits differ. Two
 * swapped letters, as in `nmae`, count as one.
 */
export function findNearestName(text: string, candidates: readonly string[]): string | undefined {
  const simple = (value: string) =>
    value
      .slice(0, 50)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, "");
  const distances = candidates.map((candidate) => ({
    candidate,
    distance: getEditDistance(simple(text), simple(candidate)),
  }));
  const [best] = distances.sort((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= simple(best.candidate).length * 0.4
    ? best.candidate
    : undefined;
}

/** Returns how many letters to insert, remove, replace, or swap with the next one. */
function getEditDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  const get = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= other.length; column++) {
      const replaced = get(row - 1, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1);
      const isSwapped =
        row > 1 &&
        column > 1 &&
        one[row - 1] === other[column - 2] &&
        one[row - 2] === other[column - 1];
      const swapped = isSwapped ? get(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(replaced, swapped, get(row - 1, column) + 1, get(row, column - 1) + 1));
    }
  }
  return get(one.length, other.length);
}
