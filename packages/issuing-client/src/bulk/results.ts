/** The results that were not consumed yet. The consumer waits for the next one, and the reader of the source until one was consumed. */

export class Results<Result> {
  readonly #results: Result[] = [];
  readonly #end = createSignal();
  #added: Signal | undefined;
  #taken: Signal | undefined;

  get count(): number {
    return this.#results.length;
  }

  /** Resolves when there will be no more results. */
  get ended(): Promise<void> {
    return this.#end.promise;
  }

  add(result: Result): void {
    this.#results.push(result);
    this.#added?.resolve();
  }

  /** @returns the next result, when there is one. */
  take(): Result | undefined {
    this.letRead();
    return this.#results.shift();
  }

  /** For the consumer. @returns whether there is a result; false when there will be no more. */
  async waitForNext(): Promise<boolean> {
    while (this.#results.length === 0 && !this.#end.isResolved) {
      this.#added = createSignal();
      await this.#added.promise;
    }
    return this.#results.length > 0;
  }

  /** For the reader of the source. */
  async waitForConsumer(): Promise<void> {
    this.#taken = createSignal();
    await this.#taken.promise;
  }

  /** Ends the wait of the reader. */
  letRead(): void {
    this.#taken?.resolve();
  }

  end(): void {
    this.#end.resolve();
    this.#added?.resolve();
  }
}

/** A promise that is resolved by a method. */
type Signal = ReturnType<typeof createSignal>;

function createSignal() {
  let resolvePromise = () => {};
  const signal = {
    isResolved: false,
    promise: new Promise<void>((resolve) => {
      resolvePromise = resolve;
    }),
    resolve() {
      signal.isResolved = true;
      resolvePromise();
    },
  };
  return signal;
}
