/** Limits the work of a comparison: a small document can refer to itself in a way that makes its schemas endless or exponentially large. */
import { UnusableDocumentError } from "./document.ts";

export const workLimits = {
  /** Schemas, properties and references that are read. The document of the contract needs 4,400. */
  maxSteps: 500_000,
  /** Schemas inside each other, through references too. */
  maxDepth: 200,
};

export class Work {
  #steps = 0;
  #depth = 0;

  /** The steps until now. */
  get steps(): number {
    return this.#steps;
  }

  /** @throws {UnusableDocumentError} when the document needs more steps than `workLimits` permit */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > workLimits.maxSteps) {
      throw new UnusableDocumentError(
        `The document needs more than ${workLimits.maxSteps.toLocaleString("en")} steps of comparison`,
        { advice: "Its schemas are too large, or refer to each other too often." },
      );
    }
  }

  /** Runs a function that calls itself for the parts of a schema. */
  nested<Result>(run: () => Result): Result {
    this.spend(1);
    if (this.#depth >= workLimits.maxDepth) {
      throw new UnusableDocumentError(
        `The schemas of the document are nested more than ${workLimits.maxDepth} levels deep.`,
      );
    }
    this.#depth++;
    try {
      return run();
    } finally {
      this.#depth--;
    }
  }
}
