/** What is due next: a heap, because thousands of deliveries can wait at the same time. */

interface Entry<Item> {
  dueAtMs: number;
  /** Equal times keep the order in which they came. */
  order: number;
  item: Item;
}

export interface DueQueue<Item> {
  add(item: Item, dueAtMs: number): void;
  /** The first one and when it is due; undefined when nothing waits. */
  next(): { item: Item; dueAtMs: number } | undefined;
  /** Takes the first one out. */
  take(): Item | undefined;
  clear(): void;
}

export function dueQueue<Item>(): DueQueue<Item> {
  const heap: Entry<Item>[] = [];
  let count = 0;

  const isBefore = (a: Entry<Item>, b: Entry<Item>) =>
    a.dueAtMs < b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.order < b.order);
  const at = (index: number) => heap[index] as Entry<Item>;

  function swap(i: number, j: number): void {
    [heap[i], heap[j]] = [at(j), at(i)];
  }

  return {
    add(item, dueAtMs) {
      let index = heap.push({ dueAtMs, order: count++, item }) - 1;
      for (
        let parent = (index - 1) >> 1;
        index > 0 && isBefore(at(index), at(parent));
        parent = (index - 1) >> 1
      ) {
        swap(index, parent);
        index = parent;
      }
    },
    next: () => heap[0],
    take() {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined || first === last) return first?.item;
      heap[0] = last;
      for (let index = 0; ; ) {
        const [left, right] = [2 * index + 1, 2 * index + 2];
        let least = index;
        if (left < heap.length && isBefore(at(left), at(least))) least = left;
        if (right < heap.length && isBefore(at(right), at(least))) least = right;
        if (least === index) return first.item;
        swap(index, least);
        index = least;
      }
    },
    clear() {
      heap.length = 0;
    },
  };
}
