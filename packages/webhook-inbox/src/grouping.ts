/** Joins what is asked for at once into one question, as many as come while the ones before are under way. */

/** @param ask gives one answer per item, in their order. At most `atOnce` of its calls are under way. */
export function grouping<Item, Answer>(
  ask: (items: Item[]) => Promise<Answer[]>,
  { atOnce, most }: { atOnce: number; most: number },
): (item: Item) => Promise<Answer> {
  interface Entry {
    item: Item;
    resolve(answer: Answer): void;
    reject(error: unknown): void;
  }
  const waiting: Entry[] = [];
  let underWay = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || underWay >= atOnce) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void send(waiting.splice(0, most));
      schedule();
    });
  }

  async function send(entries: Entry[]): Promise<void> {
    underWay += 1;
    try {
      const answers = await ask(entries.map(({ item }) => item));
      for (const [index, { resolve }] of entries.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of entries) reject(error);
    } finally {
      underWay -= 1;
      schedule();
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
