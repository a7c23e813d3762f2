/**
 * Errors of a caller's mistake, which the functions of the service object throw. The control API
 * responds with their messages; any other error is a mistake of the service.
 */
import { formatType } from "@loyalty-cards/internal/format";

/** What is wrong with a member of the input. */
export interface FieldError {
  /** JSON Pointer into the request body. */
  pointer: string;
  /** What is wrong. In a response of the API it is a sentence for a person. */
  detail: string;
  /** The rule, for a developer, when `detail` is a sentence for a person. */
  rule?: string;
}

/** The input is not valid. */
export class InputError extends TypeError {
  override name = "InputError" as const;
  /** Those that a schema found. */
  readonly errors: readonly FieldError[];

  constructor(message: string, errors: readonly FieldError[] = []) {
    super(message);
    this.errors = errors;
  }
}

/** The state of the service, or the time of its clock, does not allow this. */
export class ConflictError extends RangeError {
  override name = "ConflictError" as const;
}

/** An id does not exist. */
export class NotFoundError extends RangeError {
  override name = "NotFoundError" as const;
}

/** Describes an id that does not exist, or an object in its place. */
export function createNotFoundError(what: string, id: unknown): NotFoundError {
  const problem =
    typeof id === "string"
      ? `There is no ${what} "${id}".`
      : `The id of a ${what} is a string; it is ${formatType(id)}. Pass the member id.`;
  return new NotFoundError(problem);
}
