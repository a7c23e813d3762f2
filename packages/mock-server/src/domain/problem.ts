/** Problem details (spec 7, RFC 9457), the sentences of validation errors, and the validation of input of the control API and the service object. */
import type { ControlValidationError, ControlValidator } from "@loyalty-cards/openapi/control-validators";
import type { ValidationError, Validator } from "@loyalty-cards/openapi/validators";

export interface FieldError {
  /** JSON Pointer into the request body. */
  pointer: string;
  /** In a response of the API: a sentence for a person. */
  detail: string;
  /** The rule, for a developer, when `detail` is a sentence for a person. */
  rule?: string;
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** An error response. Thrown where a request cannot be processed. */
export class Problem extends Error {
  readonly status: number;
  readonly errors: readonly FieldError[];

  constructor(status: number, detail: string, errors: readonly FieldError[] = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }

  /**
   * A 422: `detail` may be shown to the user ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)), so it consists of the sentences of
   * all errors, each once.
   */
  static invalid(errors: readonly FieldError[]): Problem {
    return new Problem(422, [...new Set(errors.map(({ detail }) => detail))].join(" "), errors);
  }

  toJSON(): Record<string, unknown> {
    const { status, message: detail, errors } = this;
    const members = { type: "about:blank", title: titles[status] ?? "Error", status, detail };
    return errors.length === 0 ? members : { ...members, errors };
  }
}

/** What a visitor reads about a rejected value. `{label}` is the label of the field. */
const sentences = {
  phone: "The phone number is not valid.",
  email: "The email address is not valid.",
  name: "The name is not valid.",
  marketing: "Please choose whether you want news and offers.",
  privacy: "Please accept the privacy policy.",
  // A visitor cannot correct it: the program that sends the form is wrong. `rule` names the mistake.
  form: "This form does not work at the moment. Please contact the shop.",
  missing: 'Please fill in "{label}".',
  number: 'Please enter a number for "{label}".',
  smallerNumber: 'Please enter a smaller number for "{label}".',
  text: 'Please enter text for "{label}".',
  textOrNumber: 'Please enter text or a number for "{label}".',
} as const;

/** A field error in a response of the API. */
export const createFieldError = (
  pointer: string,
  sentence: keyof typeof sentences,
  label = "",
): FieldError => ({ pointer, detail: sentences[sentence].replace("{label}", () => label) });

/** The sentence of a pointer: that of the first match, else `form`. */
const sentenceNames: readonly [RegExp, keyof typeof sentences][] = [
  [/^\/customer\/phone$/, "phone"],
  [/^\/customer\/email$/, "email"],
  [/^\/customer\/name$/, "name"],
  [/^\/customer\/consents\/marketing|^\/marketing$/, "marketing"],
  [/^\/customer\/consents/, "privacy"],
  [/^\/fieldValues\//, "textOrNumber"],
];

/** A body of a megabyte can have tens of thousands of wrong values, and a stored refusal keeps its errors for a day. */
const maxErrors = 100;

/** @param getLabel returns the name that people see for the field with this key. */
export function toFieldErrors(
  validator: Validator<unknown>,
  getLabel: (key: string) => string = (key) => key,
): FieldError[] {
  return (validator.errors ?? []).slice(0, maxErrors).map((error) => {
    const pointer = toPointer(error);
    const [, key] = /^\/fieldValues\/(.*)$/s.exec(pointer) ?? [];
    const label = key && getLabel(key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const sentence = sentenceNames.find(([pattern]) => pattern.test(pointer))?.[1] ?? "form";
    const rule = `${formatName(pointer)} ${formatRule(error)}.`;
    return { ...createFieldError(pointer, sentence, label), rule };
  });
}

/** Of a missing and of an unknown member that of the member, not of its object. */
function toPointer({
  instancePath,
  params,
}: Pick<ValidationError | ControlValidationError, "instancePath" | "params">) {
  const member = params["missingProperty"] ?? params["additionalProperty"];
  return member === undefined ? instancePath : `${instancePath}/${member}`;
}

const formatName = (pointer: string) =>
  pointer === "" ? "The body" : `"${pointer.slice(1).replaceAll("/", ".")}"`;

function formatRule({
  keyword,
  params,
  message,
  parentSchema,
}: ValidationError & Partial<ControlValidationError>): string {
  if (keyword === "required") return "is missing";
  if (keyword === "pattern") return "must not be blank";
  if (keyword === "type") return `must be of type ${String(params["type"]).replaceAll(",", " or ")}`;
  if (keyword === "enum") return `must be one of ${(params["allowedValues"] as string[]).join(", ")}`;
  if (keyword === "additionalProperties")
    return `is not known; there are ${Object.keys(parentSchema?.properties ?? {}).join(", ")}`;
  return message ?? "is not valid";
}

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
    const detail = `${formatName(pointer)} ${formatRule(error)}.`;
    errors.set(`${pointer} ${detail}`, { pointer, detail });
  }
  throw new InputError([...errors.values()]);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether objects and lists are nested deeper than `levels`. True for a value that contains itself. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}
