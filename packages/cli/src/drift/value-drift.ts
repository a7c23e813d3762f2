/** Compares the values that two schemas accept: enums, limits, formats and other constraints. */
import { isDeepStrictEqual } from "node:util";
import { adoptedSchema } from "./adoption.ts";
import { getProperty, type Json } from "./document.ts";
import type { Place, Report } from "./drift-rules.ts";
import {
  getValues,
  lowerLimits,
  otherConstraints,
  otherLimits,
  type Schema,
  upperLimits,
} from "./schema-form.ts";

/** Formats that define the storage of a number, which JSON does not show, or only how a text is displayed. */
const formatsWithoutEffect = ["int32", "int64", "float", "double", "password"];

/** Formats of values that the client sends, and that a service may expect, by the name of a property or parameter. */
const expectedFormats = new Map([
  ["id", /./],
  ["templateId", /./],
  ["email", /^(idn-)?email$/],
  ["phone", /phone|^tel$|e\.?164/i],
]);

/** @returns the changed keywords. @param flat the schema of the contract. @param said that of the service, in the same form */
export const compareValues = (flat: Schema, said: Schema, place: Place, report: Report): Json => ({
  ...compareEnums(flat, said, place, report),
  ...compareLimits(flat, said, place, report),
  ...compareFormats(flat, said, place, report),
});

function compareEnums(flat: Schema, said: Schema, place: Place, report: Report): Json {
  const after = getValues(said) ?? getProperty(said, "x-extensible-enum");
  const open = flat["x-extensible-enum"];
  if (Array.isArray(open)) {
    const known = Array.isArray(after) ? after.filter((value) => typeof value === "string") : [];
    if (known.length === 0 || sameValues(open, known)) return {};
    report("known-values-changed", place, `the known values are now ${listed(known)}`);
    return { "x-extensible-enum": known };
  }
  const before = getValues(flat);
  const isClosed = getValues(said) !== undefined;
  if (!isClosed && (before === undefined || flat["const"] !== undefined)) return {};
  if (!isClosed) {
    report("values-added", place, `any value is possible, not only ${listed(before ?? [])}`);
    return { enum: undefined };
  }
  const allowed = after as unknown[];
  if (before === undefined) {
    report("values-removed", place, `only ${listed(allowed)} are possible`);
    return { enum: allowed };
  }
  const removed = before.filter((value) => !includes(allowed, value));
  // A service can describe `type` once, with the types of all events.
  if (flat["const"] !== undefined && removed.length === 0) return {};
  const added = allowed.filter((value) => !includes(before, value));
  if (added.length > 0) report("values-added", place, `${listed(added)} added to the possible values`);
  if (removed.length > 0)
    report("values-removed", place, `${listed(removed)} removed from the possible values`);
  return added.length + removed.length === 0 ? {} : { enum: allowed, const: undefined };
}

function compareLimits(flat: Schema, said: Schema, place: Place, report: Report): Json {
  const changes: Record<string, unknown> = {};
  for (const keyword of [...lowerLimits, ...upperLimits, ...otherLimits]) {
    const [before, after] = [flat[keyword], said[keyword]];
    if (after === undefined || after === before) continue;
    if (before === undefined && after === 0 && /^min[A-Z]/.test(keyword)) continue;
    const isLooser =
      typeof before === "number" &&
      ((lowerLimits.includes(keyword) && Number(after) < before) ||
        (upperLimits.includes(keyword) && Number(after) > before));
    const change = before === undefined ? `is ${after}` : `changes from ${before} to ${after}`;
    report(isLooser ? "limit-loosened" : "limit-tightened", place, `${keyword} ${change}`);
    changes[keyword] = after;
  }
  for (const keyword of otherConstraints) {
    if (said[keyword] === undefined || said[keyword] === false || flat[keyword] !== undefined) continue;
    report("limit-tightened", place, `the constraint ${keyword} is added`);
    Object.assign(changes, adoptedSchema({ [keyword]: said[keyword] }));
  }
  return changes;
}

function compareFormats(flat: Schema, said: Schema, place: Place, report: Report): Json {
  const [before, after] = [flat["format"], said["format"]];
  if (typeof after !== "string" || after === before || formatsWithoutEffect.includes(after)) return {};
  if (before === undefined)
    report(isExpected(place, after) ? "format-expected" : "format-added", place, `the format is ${after}`);
  else report("format-changed", place, `the format changes from ${before} to ${after}`);
  return { format: after };
}

const isExpected = ({ direction, path }: Place, format: string) => {
  const name = /\w+$/.exec(path)?.[0] ?? "";
  return direction === "request" && (expectedFormats.get(name)?.test(format) ?? false);
};

export const includes = (values: readonly unknown[], value: unknown): boolean =>
  values.some((one) => isDeepStrictEqual(one, value));

export const sameValues = (first: readonly unknown[], second: readonly unknown[]): boolean =>
  first.length === second.length && first.every((value) => includes(second, value));

/** The first values of a list, as JSON. */
const listed = (values: readonly unknown[]) => {
  const first = values.slice(0, 10).map((value) => JSON.stringify(value));
  return first.join(", ") + (values.length > 10 ? ", …" : "");
};
