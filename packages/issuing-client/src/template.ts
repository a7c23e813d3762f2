/** Templates: typed field values, and their validation with a schema. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FieldValues } from "./cards.ts";
import { configurationError, IssuingError, isPromise } from "./errors.ts";
import { formatFields, toRejectedFields } from "./rejected-fields.ts";
import { parseId } from "./request.ts";

/** A template: its id and its fields. */
export interface Template<Fields> {
  readonly id: string;
  /** Validates the field values before the request. */
  readonly schema?: StandardSchemaV1<Fields>;
}

/**
 * Defines a template and the types of its fields. `issueCard` accepts and returns these fields only.
 * @typeParam Fields the fields; inferred from a schema.
 * @param id the id of the template.
 * @param schema a schema of zod, valibot or another Standard Schema library, which validates the field values before the request.
 * Default: none, only the types are checked.
 * @throws {IssuingError} `configuration` for an empty id or an invalid schema.
 * @example
 * ```ts
 * import { createIssuingClient, defineTemplate } from "@loyalty-cards/issuing-client";
 *
 * const coffeeClub = defineTemplate<{ name: string; points?: number }>("tpl_coffee");
 * const customer = { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } };
 * const request = { fieldValues: { name: "Anna" }, customer };
 * const card = await createIssuingClient().issueCard(coffeeClub, request, { userId: 42 });
 * console.log(card.fieldValues.name.length); // a string
 * ```
 */
export function defineTemplate<Fields = FieldValues>(
  id: string,
  schema?: StandardSchemaV1<Fields>,
): Template<Fields> {
  parseId("template id", id);
  if (schema !== undefined && typeof schema["~standard"]?.validate !== "function") {
    throw configurationError(
      "The schema of a template must follow the Standard Schema, as those of zod and valibot do.",
    );
  }
  return Object.freeze(schema === undefined ? { id } : { id, schema });
}

/** @throws {IssuingError} `configuration` for values that JSON would change or drop. */
export function parseFieldValues(values: unknown): Record<string, unknown> | undefined {
  if (values === undefined) return undefined;
  const prototype = typeof values === "object" && values !== null ? Object.getPrototypeOf(values) : undefined;
  // A plain object can belong to another realm, such as that of a test runner. Its prototype has no prototype.
  const isPlain =
    prototype === null || (prototype !== undefined && Object.getPrototypeOf(prototype) === null);
  if (!isPlain || Array.isArray(values)) throw configurationError("fieldValues must be a plain object.");
  for (const [key, value] of Object.entries(values as object)) {
    const isSendable = typeof value === "string" || Number.isFinite(value) || value === undefined;
    if (!isSendable) throw configurationError(`fieldValues.${key} must be a string or a finite number.`);
  }
  return values as Record<string, unknown>;
}

/**
 * Validates values. The caller creates the error, so that its stack names the caller.
 * @returns the schema's result; undefined when it threw. A promise, which never rejects, only when the schema returns one.
 */
export function validate<Fields>(
  schema: StandardSchemaV1<Fields>,
  values: unknown,
): Validation<Fields> | Promise<Validation<Fields>> {
  try {
    const result = schema["~standard"].validate(values);
    return isPromise(result) ? Promise.resolve(result).catch(() => undefined) : result;
  } catch {
    return undefined;
  }
}

type Validation<Fields> = StandardSchemaV1.Result<Fields> | undefined;

/**
 * Returns the values as the schema changed them.
 * @param sent the JSON that was validated.
 * @throws {IssuingError} `validation`, naming the fields; `configuration` when the schema threw.
 */
export function readValidated(
  result: StandardSchemaV1.Result<unknown> | undefined,
  sent: string,
): Record<string, unknown> | undefined {
  if (result === undefined) {
    throw configurationError("The template's schema threw an error instead of returning issues.");
  }
  if (result.issues === undefined) return parseFieldValues(result.value);
  const fields = toRejectedFields(result.issues);
  // The issues' messages are left out, because some libraries quote the value in them.
  const pointers = formatFields(fields, sent) || "/fieldValues";
  throw new IssuingError(`Field values do not match the template's schema: ${pointers}.`, {
    code: "validation",
    outcome: "not-sent",
    fields,
    userMessage: "Some details are missing or not valid. Please check them and try again.",
  });
}
