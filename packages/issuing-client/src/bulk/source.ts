/** The source of a bulk run: any iterable or async iterable of rows. */
import { configurationError } from "../errors.ts";

export class Source<Row> {
  readonly #rows: Iterable<Row> | AsyncIterable<Row>;
  #iterator: Iterator<Row> | AsyncIterator<Row> | undefined;

  /** @throws {IssuingError} `configuration` when the value is not iterable. Nothing is read before the first `next`. */
  constructor(rows: Iterable<Row> | AsyncIterable<Row>) {
    if (!isIterable(rows))
      throw configurationError("The source of issueCards must be an iterable or an async iterable of rows.");
    this.#rows = rows;
  }

  /** @throws what the source throws. */
  async next(): Promise<IteratorResult<Row>> {
    const rows = this.#rows;
    this.#iterator ??= Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
    try {
      const next = await this.#iterator.next();
      if (next.done) this.#iterator = undefined;
      return next;
    } catch (error) {
      this.#iterator = undefined; // as for…of: what has failed is not closed
      throw error;
    }
  }

  /** Ends a source that was not read completely. Not awaited: a generator that is waiting for its next row would not return. */
  close(): void {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    void Promise.resolve()
      .then(() => iterator?.return?.())
      .catch(() => {});
  }
}

function isIterable(value: unknown): boolean {
  if (typeof value === "string") return false;
  const { [Symbol.asyncIterator]: async, [Symbol.iterator]: sync } = (value ?? {}) as {
    [Symbol.asyncIterator]?: unknown;
    [Symbol.iterator]?: unknown;
  };
  return (async ?? sync) !== undefined;
}
