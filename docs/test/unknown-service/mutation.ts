/** A mutation: one way in which the real service may differ from docs/assumptions.md, applied to the mock service. */

import type { MockService } from "../../../packages/mock-server/src/index.ts";
import type { ReceiverOptions } from "../../../packages/webhook-verify/src/index.ts";

export type Members = Record<string, unknown>;
export type Operation = "issueCard" | "getCard" | "listOperations" | "getConsent" | "setConsent";

/** A request of the client, before it reaches the mock service. */
export interface ApiRequest {
  operation: Operation | undefined;
  method: string;
  /** With the query. */
  path: string;
  headers: Headers;
  /** The parsed JSON body. */
  body: unknown;
}

export interface ApiResponse {
  status: number;
  headers: Record<string, string>;
  /** Sent as JSON; undefined for no body. */
  body: unknown;
  /** Sent unchanged, instead of `body`. */
  text?: string;
}

export type Respond = (request: ApiRequest) => Promise<ApiResponse>;

/** The body of a webhook; a mutation may put anything in any member. */
export interface SentEvent extends Members {
  id: unknown;
  type: unknown;
  createdAt: unknown;
  data: Members;
}

/** One attempt at a delivery, signed. */
export interface SentDelivery {
  headers: [name: string, value: string][];
  body: string;
}

/** How to sign an attempt: the secret at the time of the event, and the other one. */
export interface Signing {
  secret: string;
  otherSecret: string;
  nowSeconds: number;
  /** 0 for the first attempt of this delivery. */
  attempt: number;
  sign(rawBody: string, secret: string, timestamp: number): string;
}

/** What a mutation can change. Without a function, the mock service's behaviour stays. */
export interface Hooks {
  /** Changes a card in the service and in its responses. */
  card?(card: Members): Members;
  /** Handles requests between the client and the mock service. */
  api?(request: ApiRequest, next: Respond): Promise<ApiResponse>;
  /** The events that are sent for one event. */
  event?(event: SentEvent): SentEvent[];
  /** Changes one attempt, after it was signed. */
  delivery?(delivery: SentDelivery, signing: Signing): SentDelivery;
}

export interface Draw {
  below(limit: number): number;
  pick<Item>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
  text(length: number): string;
}

export interface RunContext {
  draw: Draw;
  service: MockService;
}

/** The members of the mock service's state that are read. */
interface StoredState {
  cards: Map<string, unknown>;
  customers: Map<string, { phone?: string; cardIds: string[]; marketing: { isGiven: boolean } }>;
  cardIdByKey: Map<string, unknown>;
}
export const stored = (service: MockService) => service.snapshot().state as StoredState;

/** How a call of the story ends: `value`, the code of an IssuingError, or `undefined` (`setConsent`). */
export type End = string;

export interface Mutation {
  /** The name of its row in docs/assumptions.md. */
  row: string;
  name: string;
  /** The calls of the story whose end differs from the mock service. */
  ends?: Partial<Record<Step, End>>;
  /** The types whose events go to the handler `unexpectedData`. */
  unexpectedData?: readonly string[];
  /** The types that are not of this version, whose events go to the handler `otherTypes`. */
  otherTypes?: readonly string[];
  /** The status of the receivers for these types, or for all (`*`), instead of 204. */
  refused?: Readonly<Record<string, number>>;
  receiver?: Partial<ReceiverOptions>;
  start(context: RunContext): Hooks;
}

/** The calls of the story in order, and how each ends with the mock service. */
export const steps = {
  signUp: "value",
  signUpAgain: "value",
  signUpAtOnce: "value",
  signUpAtOnceToo: "value",
  signUpByEmail: "value",
  signUpInvalid: "validation",
  signUpCorrected: "value",
  /** Only after a 422 for the corrected form: with a keySuffix, as the client's README says. */
  signUpWithKeySuffix: "value",
  signUpAtOtherWebsite: "value",
  getCard: "value",
  links: "value",
  listOperations: "value",
  listTwoOperations: "value",
  getConsent: "value",
  giveConsent: "value",
  getGivenConsent: "value",
  withdrawConsent: "value",
  signUpLater: "value",
  signUpUnderAnotherKey: "value",
  unknownCard: "not-found",
  archivedTemplate: "not-found",
  wrongKey: "unauthorized",
} as const;
export type Step = keyof typeof steps;

/** The steps that issue a card; a mutation of every issued card changes the end of all of them. */
export const signUps: readonly Step[] = [
  "signUp",
  "signUpAgain",
  "signUpAtOnce",
  "signUpAtOnceToo",
  "signUpByEmail",
  "signUpCorrected",
  "signUpWithKeySuffix",
  "signUpAtOtherWebsite",
  "signUpLater",
  "signUpUnderAnotherKey",
];

/** The name in two concurrent sign-ups, so that a mutation can recognise them. */
export const togetherName = "Two At Once";

type Declared = Pick<Mutation, "ends" | "unexpectedData" | "otherTypes" | "refused" | "receiver">;

/** Creates a mutation. @param declared the expected differences from the mock service. */
export const mutation = (
  row: string,
  name: string,
  hooks: Hooks | ((context: RunContext) => Hooks),
  declared: Declared = {},
): Mutation => ({
  row,
  name,
  ...declared,
  start: (context) => (typeof hooks === "function" ? hooks(context) : hooks),
});

/** The same end for several steps. */
export const expectEnd = (end: End, ...names: readonly Step[]): Partial<Record<Step, End>> =>
  Object.fromEntries(names.map((name) => [name, end]));

/** All randomness of a run, from one seed (mulberry32). */
export function createDraw(seed: number): Draw {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: <Item>(items: readonly Item[]) => items[below(items.length)] as Item,
    shuffled: (items) =>
      items
        .map((item) => ({ item, place: next() }))
        .sort((one, other) => one.place - other.place)
        .map(({ item }) => item),
    text: (length) =>
      Array.from({ length }, () => "abcdefghijklmnopqrstuvwxyz0123456789"[below(36)]).join(""),
  };
}
