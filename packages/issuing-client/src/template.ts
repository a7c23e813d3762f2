/** Templates as types: which field values a card takes and gives back. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { configurationError, IssuingError } from "./errors.ts";
import { nameFields, toRejectedFields } from "./fields.ts";
import { checkedId } from "./identifier.ts";

/** Values of a card's fields by their keys, when nothing more is known of the template (spec 2.1). */
export interface FieldValues {
  [fieldKey: string]: string | number;
}

/** A template's id, and what its fields are. */
export interface Template<Fields> {
  readonly id: string;
  /** Checked before anything is sent. */
  readonly schema?: StandardSchemaV1<Fields>;
}

/**
 * Defines a template once, with the types of its fields: `issueCard` takes and returns these fields, and nothing else compiles.
 * @typeParam Fields the fields; inferred from a schema.
 * @param id the id of the template.
 * @param schema of zod, valibot or another library of the Standard Schema: field values are validated with it before a request is sent.
 * Default: none, the types only.
 * @throws {IssuingError} `configuration` for an empty id, and for a schema of another kind.
 * @example
 * ```ts
 * import { createIssuingClient, defineTemplate } from "@loyalty-cards/issuing-client";
 *
 * const coffeeClub = defineTemplate<{ name: string; points?: number }>("tpl_coffee");
 * const card = await createIssuingClient().issueCard(coffeeClub, {
 *   fieldValues: { name: "Anna" },
 *   customer: { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } },
 * });
 * console.log(card.fieldValues.name.length); // a string
 * ```
 */
export function defineTemplate<Fields = FieldValues>(
  id: string,
  schema?: StandardSchemaV1<Fields>,
): Template<Fields> {
  checkedId("template id", id);
  if (schema !== undefined && typeof schema["~standard"]?.validate !== "function") {
    throw configurationError(
      "The schema of a template must follow the Standard Schema, as those of zod and valibot do.",
    );
  }
  return Object.freeze(schema === undefined ? { id } : { id, schema });
}

/** @throws {IssuingError} `configuration` for what JSON would change or lose. */
export function checkedFieldValues(values: unknown): Record<string, unknown> | undefined {
  if (values === undefined) return undefined;
  const prototype = typeof values === "object" && values !== null ? Object.getPrototypeOf(values) : undefined;
  // A plain object of any realm: its prototype is the end of the chain, or has no prototype itself.
  const isPlain =
    prototype === null || (prototype !== undefined && Object.getPrototypeOf(prototype) === null);
  if (!isPlain || Array.isArray(values)) throw configurationError("fieldValues must be a plain object.");
  for (const [key, value] of Object.entries(values as object)) {
    const isSendable = typeof value === "string" || Number.isFinite(value) || value === undefined;
    if (!isSendable) throw configurationError(`fieldValues.${key} must be a string or a finite number.`);
  }
  return values as Record<string, unknown>;
}

/** What the schema says about the values; undefined when it threw. It never rejects: an error made here would have a stack without the caller. */
export async function validatedBy<Fields>(
  schema: StandardSchemaV1<Fields>,
  values: unknown,
): Promise<StandardSchemaV1.Result<Fields> | undefined> {
  try {
    return await schema["~standard"].validate(values);
  } catch {
    return undefined;
  }
}

/**
 * The values as a schema leaves them.
 * @param sent the JSON of the values that it validated.
 * @throws {IssuingError} `validation`, naming the fields; `configuration` when the schema threw.
 */
export function matchedValues(
  result: StandardSchemaV1.Result<unknown> | undefined,
  sent: string,
): Record<string, unknown> | undefined {
  if (result === undefined) {
    throw configurationError("The template's schema threw an error instead of returning issues.");
  }
  if (result.issues === undefined) return checkedFieldValues(result.value);
  const fields = toRejectedFields(result.issues);
  // Only where, not what: the texts of some libraries quote the value.
  const named = nameFields(fields, sent) || "/fieldValues";
  throw new IssuingError(`Field values do not match the template's schema: ${named}.`, {
    code: "validation",
    outcome: "not-sent",
    fields,
    userMessage: "Some details are missing or not valid. Please check them and try again.",
  });
}
