/** What the command delivers, and where: example events of every type, and the address, signing secret and headers of the receiver. The secret is never an argument and never printed. */

import { isLoopback, isPrivate } from "@loyalty-cards/internal/hostnames";
import { eventExamples } from "@loyalty-cards/openapi/event-examples";
import { CommandError } from "../command-error.ts";
import type { Environment } from "../configuration.ts";

export const defaultSecretVariable = "LOYALTY_SIGNING_SECRET";

/** @param name the variable of the environment or of `.env`. @throws {CommandError} when it is missing or has white space around it. */
export function readSecret(environment: Environment, name: string = defaultSecretVariable): string {
  const secret = environment[name] ?? "";
  if (secret.trim() === "") {
    // The message does not quote the name: the user may have passed the secret itself by mistake.
    if (name !== defaultSecretVariable)
      throw new CommandError(
        "There is no signing secret: the variable that --secret-env names is not set in the environment or in .env.",
      );
    throw new CommandError(
      `There is no signing secret: set ${name} in the environment or in .env to the secret of the endpoint. \`loyalty-cards dev --forward URL\` prints one.`,
    );
  }
  if (secret.trim() !== secret) {
    throw new CommandError(`${name} has white space around it: remove it, or the signatures do not match.`);
  }
  return secret;
}

/**
 * Reads the address from `--to` or an argument, or from `LOYALTY_WEBHOOK_URL`.
 * @param advice says in the error message how to set it.
 * @throws {CommandError} when neither is set, or for an address that the service would not accept.
 */
export function readReceiverUrl(
  option: string | undefined,
  environment: Environment,
  advice = "use --to",
): URL {
  const text = option ?? environment["LOYALTY_WEBHOOK_URL"];
  if (!text) {
    throw new CommandError(
      `There is no address of a receiver: ${advice}, or set LOYALTY_WEBHOOK_URL in the environment or in .env.`,
    );
  }
  if (!URL.canParse(text))
    throw new CommandError(`"${text}" is not an address: write http://localhost:3000/webhooks/loyalty.`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new CommandError("The address of the receiver contains a user name or a password: remove it.");
  const isLocal = isLoopback(url.hostname) || isPrivate(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLocal)) return url;
  throw new CommandError(
    `"${url.origin}" must use https: the service delivers to https only. http is for receivers on this machine or in its network.`,
  ); // spec 6.3.5
}

/** The headers of a delivery ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
export const createHeaders = (type: string, deliveryId: string, signature: string) => ({
  "content-type": "application/json",
  "service-event": encodeURIComponent(type.toWellFormed()), // a header has ASCII only
  "service-delivery": deliveryId,
  "service-signature": signature,
});

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

export const knownTypes = Object.keys(eventExamples);

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
