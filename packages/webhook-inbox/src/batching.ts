/** Batching: joins concurrent calls into one query, with a limit on how many queries run at once. */

/** @param run returns one result per item, in the same order. At most `concurrency` of its calls run at once. */
export function createBatching<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { concurrency, maxItems }: { concurrency: number; maxItems: number },
): (item: Item) => Promise<Result> {
  interface Entry {
    item: Item;
    resolve(result: Result): void;
    reject(error: unknown): void;
  }
  const queue: Entry[] = [];
  let running = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || queue.length === 0 || running >= concurrency) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void runBatch(queue.splice(0, maxItems));
      schedule();
    });
  }

  async function runBatch(entries: Entry[]): Promise<void> {
    running += 1;
    try {
      const results = await run(entries.map(({ item }) => item));
      for (const [index, { resolve }] of entries.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of entries) reject(error);
    } finally {
      running -= 1;
      schedule();
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      schedule();
    });
}
