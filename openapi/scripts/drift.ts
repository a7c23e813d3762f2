/** Drift: how the OpenAPI document of a service differs from the contract, and the contract that agrees with the service. */
import { type DriftRule, type DriftSeverity, driftRules, type Report } from "./drift-rules.ts";
import { OperationComparison } from "./operation-drift.ts";
import { SchemaComparison } from "./schema-drift.ts";
import { type Json, UnusableDocumentError } from "./served-document.ts";

export interface Difference {
  severity: DriftSeverity;
  rule: DriftRule;
  /** `Card.status`, or `issueCard › 201` for what has no component of its own. */
  place: string;
  detail: string;
  /** The operations and events that it concerns. */
  operations: readonly string[];
}

export interface Drift {
  differences: readonly Difference[];
  /** What the served document does not say or has besides, without being a difference. */
  notes: readonly string[];
  /** The contract, changed where the service says otherwise; the same object when nothing differs. */
  contract: Json;
}

/**
 * Compares a service's OpenAPI document with the contract.
 *
 * Operations are found below any path prefix, whatever their parameters and schemas are called. Documentation, examples,
 * `x-` members and webhooks that the service does not describe are kept from the contract.
 *
 * @throws {UnusableDocumentError} for what is not an OpenAPI 3 document, or has none of the operations
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
