/** The types of the compiled validators. */
import type { components } from "./schema.ts";

export interface ValidationError {
  /** JSON Pointer of the value at fault. */
  instancePath: string;
  keyword: string;
  params: Readonly<Record<string, unknown>>;
  message?: string;
}

export interface Validator<Value> {
  (value: unknown): value is Value;
  /** The faults of the last value, all of them. */
  errors?: readonly ValidationError[] | null;
}

export declare const IssueCardRequest: Validator<components["schemas"]["IssueCardRequest"]>;
export declare const ConsentChange: Validator<components["schemas"]["ConsentChange"]>;
