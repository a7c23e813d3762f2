/** The types of the compiled validators. */
import type { components } from "./schema.ts";

export interface ValidationError {
  /** JSON Pointer of the wrong value. */
  instancePath: string;
  keyword: string;
  params: Readonly<Record<string, unknown>>;
  message?: string;
}

export interface Validator<Value> {
  (value: unknown): value is Value;
  /** All errors of the value that was validated last. */
  errors?: readonly ValidationError[] | null;
}

export declare const isIssueCardRequest: Validator<components["schemas"]["IssueCardRequest"]>;
export declare const isConsentChange: Validator<components["schemas"]["ConsentChange"]>;
