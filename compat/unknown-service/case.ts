/** What a case can change in the mock service, and what it expects of the programs. */
import type { EventEmitter } from "node:events";
import type { Draw } from "@loyalty-cards/internal/test/draw";
import { type KnownEvents, requiredData } from "@loyalty-cards/openapi/events";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { MockService } from "../../packages/mock-server/src/index.ts";

export type Members = Record<string, unknown>;
export type Operation = OperationId;

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

/** The body of a webhook; a case may put anything in any member. */
export type SentEvent = Record<"id" | "type" | "createdAt", unknown> & { data: Members };

export type HeaderLines = [name: string, value: string][];

/** One attempt at a delivery. */
export interface Attempt {
  /** 0 for the first attempt of this delivery. */
  number: number;
  nowSeconds: number;
  /** The secret that the endpoint did not have when the event was created. */
  otherSecret: string;
  /** Signs the body, by default as the mock service does. */
  sign(options?: { secret?: string; timestamp?: number }): string;
}

/** The members of the mock service's state that are read. */
interface StoredState {
  cards: Map<string, unknown>;
  customers: Map<string, { phone?: string; cardIds: string[]; marketing: { isGiven: boolean } }>;
  cardIdByKey: Map<string, unknown>;
}
export const stored = (service: MockService) => service.snapshot().state as StoredState;

/** What the functions of a case share during one run. */
export interface Run {
  draw: Draw;
  service: MockService;
  /** How often this was counted before. */
  count(name: string): number;
  responses: Map<string, ApiResponse>;
  signals: EventEmitter;
}

/** One way in which the real service may differ from docs/assumptions.md. Without a function, it behaves as the mock service. */
export interface Case {
  /** Changes a card in the service and in its responses. */
  card?(card: Members): Members;
  /** Handles requests between the client and the mock service. */
  api?(request: ApiRequest, next: Respond, run: Run): Promise<ApiResponse>;
  /** The events that are sent for one event. */
  event?(event: SentEvent, run: Run): SentEvent[];
  /** Changes the body of a webhook, before it is signed. */
  body?(body: string): string;
  /** Changes the headers of one attempt, after it was signed. */
  headers?(headers: HeaderLines, attempt: Attempt): HeaderLines;
  /** An option of the receivers. */
  toleranceSeconds?: number;

  /** The calls that end otherwise than with the mock service. */
  ends?: Ends;
  /** The types whose events go to the handler `unexpectedData`. */
  unexpectedData?: readonly string[];
  /** The types that are not of this version, whose events go to the handler `otherTypes`. */
  otherTypes?: readonly string[];
  /** The status of the receivers, instead of 204. */
  refused?: number;
}

/** What the cases of one run change together. */
export interface Changes {
  card(card: Members): Members;
  api(request: ApiRequest, next: Respond): Promise<ApiResponse>;
  event(event: SentEvent): SentEvent[];
  body(body: string): string;
  headers(headers: HeaderLines, attempt: Attempt): HeaderLines;
}

/** Cases by assumption and name. */
export type Cases = Record<string, Case>;
export type CaseTable = Record<string, Cases>;

/** The calls of the shop in order, and how each ends with the mock service: `value`, `undefined`, or the code of an IssuingError. */
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
  archivedTemplate: "not-found",
  wrongKey: "unauthorized",
  unknownCard: "not-found",
  links: "value",
  getConsent: "value",
  giveConsent: "value",
  getGivenConsent: "value",
  withdrawConsent: "value",
  getCard: "value",
  listOperations: "value",
  listTwoOperations: "value",
  signUpLater: "value",
  signUpUnderAnotherKey: "value",
};
export type Step = keyof typeof steps;
export type Ends = Partial<Record<Step, string>>;

// Groups of calls that end alike.
export const allSteps = (Object.keys(steps) as Step[]).filter((step) => step !== "links");
export const issuing: readonly Step[] = allSteps.filter((step) =>
  /^signUp|archivedTemplate|wrongKey/.test(step),
);
export const signUps: readonly Step[] = allSteps.filter((step) => /^signUp(?!Invalid)/.test(step));
export const replays: readonly Step[] = ["signUpAgain", "signUpAtOnceToo", "signUpLater"];
export const cardSteps: readonly Step[] = [...signUps, "getCard"];
export const lists: readonly Step[] = ["listOperations", "listTwoOperations"];
export const consents: readonly Step[] = ["getConsent", "getGivenConsent"];
export const consentChanges: readonly Step[] = ["giveConsent", "withdrawConsent"];

export const walletEvents = ["card.added", "card.removed"] as const;
export const eventTypes = Object.keys(requiredData) as (keyof KnownEvents)[];

/** A name in two concurrent sign-ups, so that a case can recognise them. */
export const togetherName = "Two At Once";
