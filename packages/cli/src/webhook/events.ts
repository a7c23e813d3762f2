/** Example events of every type, for `trigger`. */
import { eventExamples } from "@loyalty-cards/openapi/event-examples";
import { CommandError } from "../command-error.ts";

export const secretVariable = "LOYALTY_SIGNING_SECRET";

export interface ExampleEvent {
  id: string;
  type: string;
  createdAt: string;
  data: unknown;
}

export interface ExampleOptions {
  id: string;
  atMs: number;
  cardId: string;
  /** The position in a series, 0 for the oldest event. A later event has a larger balance. */
  index: number;
}

export const knownTypes = Object.keys(eventExamples) as (keyof typeof eventExamples)[];

/** The example of the OpenAPI document, for a card. The data of an unknown type is `{}`. */
export function createExample(type: string, { id, atMs, cardId, index }: ExampleOptions): ExampleEvent {
  const examples: Record<string, { data?: unknown } | undefined> = { ...eventExamples };
  const example = Object.hasOwn(examples, type) ? examples[type]?.data : {};
  const data = structuredClone(example ?? {}) as Record<string, unknown>;
  if ("passId" in data) data["passId"] = cardId;
  if ("passIds" in data) data["passIds"] = [cardId];
  if (typeof data["balance"] === "number") data["balance"] += 10 * index;
  if (isObject(data["operation"])) data["operation"]["id"] = id.replace(/^evt/, "op");
  return { id, type, createdAt: new Date(atMs).toISOString(), data };
}

/**
 * Applies `path=value`: `data.balance=7`, `data.passIds.0=card_1`. A value that is not JSON is text.
 * @throws {CommandError} for a change without `=`, and for a path through a value that has no members.
 */
export function setMember(event: ExampleEvent, change: string): void {
  const at = change.indexOf("=");
  if (at < 1) throw new CommandError(`--set takes path=value, for example data.balance=7, not "${change}".`);
  const names = change.slice(0, at).split(".");
  const last = names.pop() as string;
  let parent: unknown = event;
  for (const name of names) {
    if (isObject(parent) && !Object.hasOwn(parent, name)) define(parent, name, {});
    parent = isObject(parent) ? parent[name] : undefined;
  }
  if (!isObject(parent)) {
    throw new CommandError(
      `--set ${change.slice(0, at)} does not fit: a member on its way is a value, not an object.`,
    );
  }
  define(parent, last, parseValue(change.slice(at + 1)));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Sets a member. An assignment to `__proto__` would replace the prototype instead. */
function define(parent: object, name: string, value: unknown): void {
  Object.defineProperty(parent, name, { value, writable: true, enumerable: true, configurable: true });
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
