/** Cuts one page out of a long list, as the query asks. */
import { Problem } from "../domain/problem.ts";
import { ok } from "./route.ts";

const defaultLimit = 20;
const maxLimit = 100;

/** @param items newest first. @param view what is shown of an item; only those on the page are asked for it. */
export function pageOf<Item>(items: readonly Item[], query: URLSearchParams, view: (item: Item) => unknown) {
  const limit = wholeNumber(query.get("limit"), defaultLimit);
  const offset = wholeNumber(query.get("offset"), 0);
  if (limit === undefined || limit < 1) return new Problem(400, "limit must be a whole number, 1 or more.");
  if (offset === undefined) return new Problem(400, "offset must be a whole number, 0 or more.");
  const page = items.slice(offset, offset + Math.min(limit, maxLimit));
  return ok({ items: page.map(view), total: items.length });
}

function wholeNumber(text: string | null, absent: number): number | undefined {
  if (text === null) return absent;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
