/** Random choices of tests: one seed gives the same choices on every machine (mulberry32). */

export interface Draw {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number, 0 or more and below the limit. */
  below(limit: number): number;
  pick<Item>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
  /** Lower-case letters and digits. */
  text(length: number): string;
}

export function createDraw(seed: number): Draw {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <Item>(items: readonly Item[]) => items[below(items.length)] as Item,
    shuffled: (items) =>
      items
        .map((item) => ({ item, place: next() }))
        .sort((one, other) => one.place - other.place)
        .map(({ item }) => item),
    text: (length) =>
      Array.from({ length }, () => "abcdefghijklmnopqrstuvwxyz0123456789"[below(36)]).join(""),
  };
}
