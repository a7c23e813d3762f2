/** A mutation: one way in which the real service may differ from docs/assumptions.md, laid over the mock service. */
import type { MockService } from "../../packages/mock-server/src/index.ts";
import type { ReceiverOptions } from "../../packages/webhook-verify/src/index.ts";

export type Members = Record<string, unknown>;
export type Operation = "issueCard" | "getCard" | "listOperations" | "getConsent" | "setConsent";

/** A request of the client, before the mock service gets it. */
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
  /** Sent as it is, instead of `body`. */
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

/** What signs an attempt: the secret in force when the event was created, and the one before. */
export interface Signing {
  secret: string;
  otherSecret: string;
  nowSeconds: number;
  /** 0 for the first attempt of this delivery. */
  attempt: number;
  sign(rawBody: string, secret: string, timestamp: number): string;
}

/** Everything that a mutation can change; what is absent is as in the mock service. */
export interface Hooks {
  /** A decision about cards: it is true, and the service sends it. */
  card?(card: Members): Members;
  /** Stands between the client and the mock service. */
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

/** As much as is read of what the mock service has stored. */
interface StoredState {
  cards: Map<string, unknown>;
  customers: Map<string, { phone?: string; cardIds: string[]; marketing: { isGiven: boolean } }>;
  issuedUnderKey: Map<string, unknown>;
}
export const stored = (service: MockService) => service.snapshot().state as StoredState;

/** How a call of the story ends: in a value, in the code of an IssuingError, or in undefined (`setConsent`). */
export type End = string;

export interface Mutation {
  /** The name of its row in docs/assumptions.md. */
  row: string;
  name: string;
  /** The calls of the story that end otherwise than with the mock service. */
  ends?: Partial<Record<Step, End>>;
  /** The types whose events go to the handler `unknown`. */
  unknown?: readonly string[];
  /** The status of the receivers for these types, or for all (`*`), instead of 204. */
  refused?: Readonly<Record<string, number>>;
  receiver?: Partial<ReceiverOptions>;
  start(context: RunContext): Hooks;
}

/** The calls of the story, in their order, and how each ends with the mock service. */
export const steps = {
  signUp: "value",
  signUpAgain: "value",
  signUpAtOnce: "value",
  signUpAtOnceToo: "value",
  signUpByEmail: "value",
  signUpInvalid: "validation",
  signUpCorrected: "value",
  /** Only when the corrected form is still 422: with a salt, as the client's README says. */
  signUpSalted: "value",
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
  "signUpSalted",
  "signUpAtOtherWebsite",
  "signUpLater",
  "signUpUnderAnotherKey",
];

/** Who signs up in two processes at once, so that a mutation can tell these two requests. */
export const togetherName = "Two At Once";

type Declared = Pick<Mutation, "ends" | "unknown" | "refused" | "receiver">;

/** A mutation with what it changes, and what then ends otherwise than with the mock service. */
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
export const ending = (end: End, ...names: readonly Step[]): Partial<Record<Step, End>> =>
  Object.fromEntries(names.map((name) => [name, end]));

/** The responses of an operation that succeeded, otherwise. */
export function responding(
  operations: readonly Operation[],
  change: (response: ApiResponse, request: ApiRequest) => Partial<ApiResponse>,
  isMeant: (response: ApiResponse) => boolean = ({ status }) => status < 300,
): Pick<Hooks, "api"> {
  return {
    async api(request, next) {
      const response = await next(request);
      const isOurs = request.operation !== undefined && operations.includes(request.operation);
      return isOurs && isMeant(response) ? { ...response, ...change(response, request) } : response;
    },
  };
}

/** Every response of one status, otherwise. */
export const respondingTo = (status: number, change: (response: ApiResponse) => Partial<ApiResponse>) =>
  responding(every, change, (response) => response.status === status);

export const every: readonly Operation[] = [
  "issueCard",
  "getCard",
  "listOperations",
  "getConsent",
  "setConsent",
];

/** The members of a body, some of them otherwise; undefined leaves a member out. */
export const withMembers = (body: unknown, members: Members): Members => ({
  ...(body as Members),
  ...members,
});

/** The data of events of these types, otherwise. */
export function telling(
  types: readonly string[],
  change: (data: Members, event: SentEvent) => unknown,
): Pick<Hooks, "event"> {
  return {
    event: (event) => [
      types.includes(String(event.type)) ? { ...event, data: change(event.data, event) as Members } : event,
    ],
  };
}

/** Other headers of a delivery. */
export const carrying = (
  change: (headers: SentDelivery["headers"], signing: Signing) => SentDelivery["headers"],
): Pick<Hooks, "delivery"> => ({
  delivery: ({ headers, body }, signing) => ({ headers: change(headers, signing), body }),
});

/** Another value of one header, or none. */
export const header = (name: string, value: ((old: string, signing: Signing) => string) | undefined) =>
  carrying((headers, signing) =>
    headers.flatMap(([each, old]): SentDelivery["headers"] => {
      if (each.toLowerCase() !== name) return [[each, old]];
      return value === undefined ? [] : [[each, value(old, signing)]];
    }),
  );

/** Several mutations at once, the first one nearest to the mock service. */
export function combined(hooks: readonly Hooks[]): Required<Hooks> {
  return {
    card: (card) => hooks.reduce((changed, { card: change }) => change?.(changed) ?? changed, card),
    api: (request, next) =>
      hooks.reduce<Respond>(
        (inner, { api }) => (api === undefined ? inner : (each) => api(each, inner)),
        next,
      )(request),
    event: (event) =>
      hooks.reduce((events, { event: change }) => (change ? events.flatMap(change) : events), [event]),
    delivery: (delivery, signing) =>
      hooks.reduce((changed, { delivery: change }) => change?.(changed, signing) ?? changed, delivery),
  };
}

/** Everything random of a run, from one number (mulberry32). */
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
