/** Drift: the differences between the OpenAPI document of a service and the contract, and the updated contract. */
import { type Json, printable, UnusableDocumentError } from "./document.ts";
import { type DriftRule, type DriftSeverity, driftRules, type Report } from "./drift-rules.ts";
import { OperationComparison } from "./operation-drift.ts";
import { SchemaComparison } from "./schema-drift.ts";
import { ApiDocument } from "./schema-form.ts";
import { Work } from "./work.ts";

export interface Difference {
  severity: DriftSeverity;
  rule: DriftRule;
  /** `Card.status`; without a component `issueCard › 201`. */
  place: string;
  detail: string;
  /** The affected operations and events. */
  operations: readonly string[];
}

export interface Drift {
  differences: readonly Difference[];
  /** Parts that the served document omits, and operations and events that the contract does not have. */
  notes: readonly string[];
  /**
   * The contract, updated where the service differs; the same object when nothing differs.
   *
   * @throws {UnusableDocumentError} when the schemas that it would adopt are too large
   */
  readonly contract: Json;
}

const maxDifferences = 1000;

/**
 * Compares a service's OpenAPI document with the contract.
 *
 * Operations are found below any path prefix, with any names of parameters and schemas. The documentation, examples and
 * `x-` properties of the contract are kept, and its webhooks when the service describes none.
 *
 * @param work counts the steps, which are limited
 * @throws {UnusableDocumentError} when the document is not an OpenAPI 3 document, has none of the operations, or takes too much work
 */
export function compareContracts(contract: Json, served: Json, work = new Work()): Drift {
  const version = served["openapi"];
  if (typeof version !== "string" || !version.startsWith("3.")) {
    throw new UnusableDocumentError("The service's document is not an OpenAPI 3 document.");
  }
  const found = new Map<string, Difference>();
  const report: Report = (rule, { operation, direction, path }, detail) => {
    const { severity } = driftRules[rule];
    const difference = {
      severity: typeof severity === "string" ? severity : severity[direction],
      rule,
      place: printable(path),
      detail: printable(detail),
    };
    const key = JSON.stringify(difference);
    const operations = new Set([...(found.get(key)?.operations ?? []), operation]);
    found.set(key, { ...difference, operations: [...operations] });
    if (found.size > maxDifferences) {
      throw new UnusableDocumentError(
        `The document has more than ${maxDifferences} differences. Is this the address of a Loyalty Card Issuing Service?`,
      );
    }
  };
  const comparison = {
    contract: new ApiDocument(contract, work),
    served: new ApiDocument(served, work),
    report,
    work,
  };
  const schemas = new SchemaComparison(comparison);
  const operations = new OperationComparison(comparison, schemas);
  const next = operations.contract();
  const differences = [...found.values()];
  let adopted: Json | undefined;
  return {
    differences,
    notes: [...operations.notes, ...schemas.notes],
    get contract() {
      adopted ??= differences.length === 0 ? contract : schemas.adoptComponents(next);
      return adopted;
    },
  };
}

/** Two lines for each difference, breaking ones first, then the notes and the total. */
export function* formatDrift({ differences, notes }: Drift): Generator<string> {
  const breaking = differences.filter(({ severity }) => severity === "breaking");
  const compatible = differences.filter(({ severity }) => severity === "compatible");
  for (const { severity, rule, place, detail, operations } of [...breaking, ...compatible]) {
    yield `${severity.padEnd(11)} ${place}: ${detail} (${operations.join(", ")})`;
    yield `${" ".repeat(11)} ${rule}: ${driftRules[rule].reason}`;
  }
  for (const note of notes) yield `${"note".padEnd(11)} ${note}`;
  yield differences.length === 0
    ? "The contract has not changed."
    : `${differences.length} difference${differences.length === 1 ? "" : "s"}: ${breaking.length} breaking, ${compatible.length} compatible.`;
}
