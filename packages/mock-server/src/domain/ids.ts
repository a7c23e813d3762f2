/**
 * Ids: random ones, and those of events, requests and actions, which sort in the order of their
 * creation.
 */

/** 64 random bits: unique, and short enough for a line of a terminal. */
export function generateId(prefix: string): string {
  const uuid = crypto.randomUUID();
  // join makes one string, where + would keep a tree of its parts.
  return [prefix, "_", uuid.slice(0, 4), uuid.slice(24)].join("");
}

/**
 * Milliseconds since 1970 in base 36 (until the year 5188), then a counter. Digits and lower-case
 * letters sort the same everywhere.
 */
const timeLength = 9;
const countLength = 6;
const maxTimeMs = 36 ** timeLength - 1;
const positionPattern = new RegExp(`^[0-9a-z]{${timeLength + countLength}}$`);

/** The part of an id by which events, requests and actions sort together. */
export const getPosition = (id: string) => id.slice(4, 4 + timeLength + countLength);

/**
 * Ids of events, requests and actions. Compared as strings, those of one kind sort in the order of
 * their creation: an id is a prefix, and its position: the time, and a counter of that millisecond.
 * While the clock stands still or is behind the newest id, the time stays the same and the counter
 * increases.
 */
export function createSortableIds(nowMs: () => number) {
  let newest = "";
  function next(): string {
    const atMs = Math.min(Math.max(0, Math.floor(nowMs())), maxTimeMs);
    const first = toDigits(atMs, timeLength) + toDigits(0, countLength);
    const count = Number.parseInt(newest.slice(timeLength), 36) + 1;
    newest = first > newest ? first : newest.slice(0, timeLength) + toDigits(count, countLength);
    return newest;
  }
  return {
    nextEventId: () => generateId(`evt_${next()}`),
    nextRequestId: () => `req_${next()}`,
    nextActionId: () => `act_${next()}`,
    /** The position of something that has no id of its own, such as an attempt. */
    nextPosition: next,
    /**
     * Makes the next ids sort after this position. Ignores an earlier one, and one of another form.
     */
    continueAfter(position: string): void {
      if (position > newest && positionPattern.test(position)) newest = position;
    },
    /** The beginning of the newest id. */
    newest: () => `evt_${newest}_`,
  };
}

const toDigits = (value: number, length: number) => value.toString(36).padStart(length, "0");

export type SortableIds = ReturnType<typeof createSortableIds>;
