/** Example events of every type, and changes of their members from the command line. */
import type { KnownEvent } from "@loyalty-cards/webhook-verify";
import { CommandError } from "../command-error.ts";

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
  /** 0 for the oldest event of a series: the balance grows with it. */
  index: number;
}

type KnownType = KnownEvent["type"];
type CreateData<Type extends KnownType> = (
  options: ExampleOptions,
) => Extract<KnownEvent, { type: Type }>["data"];

const customerId = "cus_Yc1uQx";

const createData: { readonly [Type in KnownType]: CreateData<Type> } = {
  "card.added": ({ cardId }) => ({ passId: cardId, customerId, wallet: "apple" }),
  "card.removed": ({ cardId }) => ({ passId: cardId, customerId, wallet: "apple" }),
  "balance.changed": ({ id, cardId, index }) => ({
    passId: cardId,
    customerId,
    balance: 120 + 10 * index,
    change: 10,
    operation: { id: id.replace(/^evt/, "op"), type: "purchase" },
  }),
  "tier.changed": ({ cardId }) => ({ passId: cardId, customerId, tier: "Silver", previous: null }),
  "consent.changed": ({ cardId }) => ({ customerId, marketingConsent: true, passIds: [cardId] }),
  ping: () => ({}),
};

export const knownTypes = Object.keys(createData);

const isKnown = (type: string): type is KnownType => Object.hasOwn(createData, type);

/** An event as the service sends it. The data of an unknown type is `{}`. */
export function createExample(type: string, options: ExampleOptions): ExampleEvent {
  const data = isKnown(type) ? createData[type](options) : {};
  return { id: options.id, type, createdAt: new Date(options.atMs).toISOString(), data };
}

/**
 * Applies `path=value`: `data.balance=7`, `data.passIds.0=card_1`. The value is JSON, or text where it is not.
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

/** Not an assignment, which would replace the prototype for `__proto__`. */
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
