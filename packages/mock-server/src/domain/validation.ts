/**
 * Validation by a schema: what its errors mean in words, and the check of what a caller of the
 * control API or of the service object passes.
 */
import type {
  ControlValidationError,
  ControlValidator,
} from "@loyalty-cards/openapi/control-validators";
import type { ValidationError } from "@loyalty-cards/openapi/validators";
import { type FieldError, InputError } from "./errors.ts";

type SchemaError = ValidationError & Partial<ControlValidationError>;

/** The end of the sentence about a value, by the keyword of the schema that it violates. */
const rules: Readonly<Record<string, (error: SchemaError) => string>> = {
  required: () => "is missing",
  pattern: ({ params: { pattern } }) =>
    pattern === "\\S" ? "must not be blank" : `must match ${pattern}`,
  type: ({ params }) => `must be of type ${String(params["type"]).replaceAll(",", " or ")}`,
  enum: ({ params }) => `must be one of ${(params["allowedValues"] as string[]).join(", ")}`,
  additionalProperties: ({ parentSchema }) =>
    `is not known; there are ${Object.keys(parentSchema?.properties ?? {}).join(", ")}`,
};

/**
 * Returns where the value is and which rule it violates, such as `"points" is missing.`. The
 * pointer of a missing or an unknown member is that of the member, not of its object.
 * @param whole what the value is.
 */
export function explainSchemaError(
  error: SchemaError,
  whole = "The body",
): { pointer: string; rule: string } {
  const { instancePath, params, keyword, message } = error;
  const member = params["missingProperty"] ?? params["additionalProperty"];
  const pointer = member === undefined ? instancePath : `${instancePath}/${member}`;
  const name = pointer === "" ? whole : `"${toMemberName(pointer)}"`;
  const rule = rules[keyword]?.(error) ?? message ?? "is not valid";
  return { pointer, rule: `${name} ${rule}.` };
}

/** Converts `/customer/phone` to `customer.phone`. */
export const toMemberName = (pointer: string) => pointer.slice(1).replaceAll("/", ".");

export const escapePointer = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");
export const unescapePointer = (key: string) => key.replaceAll("~1", "/").replaceAll("~0", "~");

/**
 * @param whole what the value is, when it is not a body.
 * @returns the value, with the type of the schema.
 * @throws {InputError} with all errors.
 */
export function validateInput<Value>(
  validator: ControlValidator<Value>,
  value: unknown,
  whole?: string,
): Value {
  if (validator(value)) return value;
  const errors = new Map<string, FieldError>();
  for (const error of validator.errors ?? []) {
    // The `enum` of the same member reports it too.
    if (error.keyword === "discriminator") continue;
    const { pointer, rule } = explainSchemaError(error, whole);
    errors.set(`${pointer} ${rule}`, { pointer, detail: rule });
  }
  const fieldErrors = [...errors.values()];
  throw new InputError(fieldErrors.map(({ detail }) => detail).join(" "), fieldErrors);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Whether objects and lists are nested deeper than `levels`. True for a value that contains itself.
 */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}
