/** Drift: the differences between the OpenAPI document of a service and the contract, and the updated contract. */
import { type DriftRule, type DriftSeverity, driftRules, type Report } from "./drift-rules.ts";
import { OperationComparison } from "./operation-drift.ts";
import { SchemaComparison } from "./schema-drift.ts";
import { type Json, UnusableDocumentError } from "./served-document.ts";

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
  /** The contract, updated where the service differs; the same object when nothing differs. */
  contract: Json;
}

/**
 * Compares a service's OpenAPI document with the contract.
 *
 * Operations are found below any path prefix, with any names of parameters and schemas. The documentation, examples and
 * `x-` properties of the contract are kept, and its webhooks when the service describes none.
 *
 * @throws {UnusableDocumentError} when the document is not an OpenAPI 3 document, or has none of the operations
 */
export function compareContracts(contract: Json, served: Json): Drift {
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
      place: path,
      detail,
    };
    const key = JSON.stringify(difference);
    const operations = new Set([...(found.get(key)?.operations ?? []), operation]);
    found.set(key, { ...difference, operations: [...operations] });
  };
  const schemas = new SchemaComparison(contract, served, report);
  const comparison = new OperationComparison(contract, served, schemas, report);
  const next = comparison.contract();
  const differences = [...found.values()];
  return {
    differences,
    notes: [...comparison.notes, ...schemas.notes],
    contract: differences.length === 0 ? contract : schemas.adoptReferences(next),
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
