/** Looks a header up, in whichever form a framework hands headers over. */

export type HeadersLike =
  | { get(name: string): string | readonly string[] | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The value or values of a header, by its lower-case name. A repeated line stays a list where the framework keeps it. */
export function headerOf(
  headers: HeadersLike,
  lowerCaseName: string,
): string | readonly string[] | undefined {
  if (typeof headers.get === "function") return headers.get(lowerCaseName) ?? undefined;
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  if (Object.hasOwn(record, lowerCaseName)) return record[lowerCaseName];
  const name = Object.keys(record).find((key) => key.toLowerCase() === lowerCaseName);
  return name === undefined ? undefined : record[name];
}

/** All lines of a header in one, as a proxy would join them. */
export function joinedHeaderOf(headers: HeadersLike, lowerCaseName: string): string | undefined {
  const value = headerOf(headers, lowerCaseName);
  return typeof value === "string" ? value : value?.join(", ");
}

/** The first line of a header, for those of which only one makes sense. */
export function singleHeaderOf(headers: HeadersLike, lowerCaseName: string): string | undefined {
  const value = headerOf(headers, lowerCaseName);
  return typeof value === "string" ? value : value?.[0];
}
