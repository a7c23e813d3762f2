/** Validates input of the control API and of the service object. Error messages name the member and its rule. */
import type { ControlValidationError, ControlValidator } from "@loyalty-cards/openapi/control-validators";
import type { FieldError } from "./problem.ts";

/** The input does not match its schema. */
export class InputError extends TypeError {
  override name = "InputError" as const;
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[]) {
    super(errors.map(({ detail }) => detail).join(" "));
    this.errors = errors;
  }
}

/** @returns the value, with the type of the schema. @throws {InputError} with all errors. */
export function validateInput<Value>(validator: ControlValidator<Value>, value: unknown): Value {
  if (validator(value)) return value;
  const errors = new Map<string, FieldError>();
  for (const error of validator.errors ?? []) {
    if (error.keyword === "discriminator") continue; // the `enum` of the same member reports the error too
    const pointer = toPointer(error);
    const name = pointer.slice(1).replaceAll("/", ".");
    const detail = `${name === "" ? "The body" : `"${name}"`} ${formatRule(error)}.`;
    errors.set(`${pointer} ${detail}`, { pointer, detail });
  }
  throw new InputError([...errors.values()]);
}

function toPointer({ instancePath, keyword, params }: ControlValidationError): string {
  if (keyword === "required") return `${instancePath}/${params["missingProperty"]}`;
  if (keyword === "additionalProperties") return `${instancePath}/${params["additionalProperty"]}`;
  return instancePath;
}

/** The members of a schema that the text of a rule mentions. */
interface RuleSchema {
  type?: string;
  enum?: readonly string[];
  properties?: object;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
  "x-rule"?: string;
}

function formatRule({ keyword, schema, parentSchema, data }: ControlValidationError): string {
  const rules = parentSchema as RuleSchema;
  const own = (keyword === "not" ? (schema as RuleSchema) : rules)["x-rule"];
  if (own !== undefined) return own.replace("{value}", String(data));
  if (keyword === "required") return "is missing";
  if (keyword === "additionalProperties") {
    return `is not known; there are ${Object.keys(rules.properties ?? {}).join(", ")}`;
  }
  if (rules.enum !== undefined) return `must be one of ${rules.enum.join(", ")}`;
  if (keyword === "minItems") return `must have at least ${rules.minItems} of them`;
  switch (rules.type) {
    case "number":
      return `must be a number${formatLimits(rules)}`;
    case "integer":
      return `must be a whole number${formatLimits(rules)}`;
    case "string":
      return "must be a text that is not blank";
    case "boolean":
      return "must be true or false";
    case "array":
      return "must be a list";
    default:
      return "must be an object";
  }
}

function formatLimits({ minimum, exclusiveMinimum, maximum }: RuleSchema): string {
  const limits = [
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
  ].filter((limit) => limit !== false);
  return limits.length === 0 ? "" : `, ${limits.join(" and ")}`;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether objects and lists are nested deeper than `levels`. True for a value that contains itself. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}
