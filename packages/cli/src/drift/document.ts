/** The values of an OpenAPI document: own properties, the targets of references, and texts for messages. */

export type Json = Readonly<Record<string, unknown>>;

/** The document cannot be read, or is not a document of this service. Nothing has been compared or written. */
export class UnusableDocumentError extends Error {
  override readonly name = "UnusableDocumentError";
  /** What is wrong, without the advice. */
  readonly problem: string;
  readonly advice: string | undefined;

  /** @param options `advice` is a sentence that follows the problem in the message. */
  constructor(problem: string, { advice, ...options }: ErrorOptions & { advice?: string } = {}) {
    super(advice === undefined ? problem : `${problem}. ${advice}`, options);
    this.problem = problem;
    this.advice = advice;
  }
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own property of an object; undefined when the value is not an object. */
export const getProperty = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** An own property that is an object; otherwise an empty object. */
export const recordIn = (value: unknown, name: string): Json => {
  const property = getProperty(value, name);
  return isRecord(property) ? property : {};
};

/** An own property that is a list; otherwise an empty list. */
export const listIn = (value: unknown, name: string): readonly unknown[] => {
  const property = getProperty(value, name);
  return Array.isArray(property) ? property : [];
};

export const mapProperties = (value: Json, change: (property: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(value).map(([name, property]) => [name, change(property)]));

/** A text of the document for a message: control characters are escaped, and it has at most about 200 characters. */
export const printable = (text: string): string =>
  (text.length > 200 ? `${text.slice(0, 200)}…` : text).replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

export const quoted = (text: string): string => `"${printable(text)}"`;

const maxReferenceLength = 1000;

/** The steps of a reference such as `#/components/schemas/Card`. @throws {UnusableDocumentError} for another form */
function stepsIn(reference: string): string[] {
  if (!reference.startsWith("#/")) {
    throw new UnusableDocumentError(
      `The document refers to ${quoted(reference)}. Only references within the document are supported.`,
    );
  }
  try {
    if (reference.length > maxReferenceLength) throw new URIError();
    return reference
      .slice(2)
      .split("/")
      .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    throw new UnusableDocumentError(
      `The document refers to ${quoted(reference)}. A reference has at most ${maxReferenceLength} characters, and "%" only before two hex digits.`,
    );
  }
}

/** The name of the component that a reference leads to. */
export const nameIn = (reference: string): string => stepsIn(reference).at(-1) ?? "";

/** The target of a reference within the document. */
export function resolvePointer(document: Json, reference: string): unknown {
  const target = stepsIn(reference).reduce<unknown>(
    (at, step) => (Array.isArray(at) ? at[Number(step)] : getProperty(at, step)),
    document,
  );
  if (target === undefined) {
    throw new UnusableDocumentError(`The document refers to ${quoted(reference)}, which it does not have.`);
  }
  return target;
}

const maxReferences = 20;

/** A parameter, response, request body, path item or schema, with its reference resolved. */
export function resolved(document: Json, node: unknown): Json {
  let target = node;
  for (let count = 0; count <= maxReferences; count++) {
    if (!isRecord(target)) return {};
    if (typeof target["$ref"] !== "string") return target;
    target = resolvePointer(document, target["$ref"]);
  }
  throw new UnusableDocumentError(
    `The reference ${quoted(String(getProperty(node, "$ref")))} leads to itself, or through more than ${maxReferences} others.`,
  );
}
