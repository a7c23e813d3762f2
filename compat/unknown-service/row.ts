/**
 * The rows of the tables in `rows/`: one way in which the real service may differ from an
 * assumption of docs/assumptions.md, and what client or receiver do then.
 */

import type { eventExamples } from "@loyalty-cards/openapi/event-examples";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { IssuingErrorCode } from "../../packages/issuing-client/src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: a service puts anything in any member.
export type Members = Record<string, any>;
type Headers = Record<string, string>;

/** A request of the client, with its parsed body. */
export interface ApiRequest {
  operation: OperationId;
  method: string;
  /** With the query. */
  path: string;
  headers: Headers;
  /** Without members for a GET. */
  body: Members;
}

/** The body is sent as JSON; `text` is sent unchanged instead. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  body?: unknown;
  text?: string;
}

/** How the service differs. Each item of a list is a service of its own. */
export type ServiceChange = {
  /** The operations that differ. Default: all. */
  operations?: readonly OperationId[];
  /** The status of the responses that differ. Default: that of a success. */
  ofStatus?: "errors" | number;
  /** Members of the request as the service reads them. A row may change nothing else. */
  request?(request: ApiRequest): Partial<ApiRequest>;
} /** Only the request differs. */ & (
  | { request: unknown }
  /** The customer of a sign-up as the service reads it. */
  | { customer(customer: Members): Members }
  /** The idempotency key as the service reads it. */
  | { keys: readonly ((key: string, request: ApiRequest) => string)[] }
  /** Requests that the service refuses get this response. */
  | { refuses(request: ApiRequest): boolean; responses: readonly ApiResponse[] }
  /** A member of the body has another value. */
  | { member: string; values: readonly unknown[] }
  /** A member of each item of a list has another value. */
  | { itemMember: string; values: readonly unknown[] }
  | { bodies: readonly ((body: Members) => unknown)[] }
  | { addedHeaders: readonly Headers[] }
  /** Parts of the response are others. */
  | { responses: readonly Partial<ApiResponse>[] }
  /** Each request gets this response first, and is processed when it is repeated. */
  | { firstResponses: readonly ApiResponse[] }
  /**
   * A request that repeats an earlier one, by its key or its phone, gets the response to that one
   * again, with these parts, if it had this status.
   */
  | { sameBy: "key" | "phone"; firstStatus: number; responses: readonly Partial<ApiResponse>[] }
  /** The first request of a key is processed, and gets `lost`; the next three get `meanwhile`. */
  | { lost: readonly ApiResponse[]; meanwhile?: ApiResponse }
  /** A customer who has a card gets this response to a request under another key. */
  | { anotherKey: ApiResponse }
  /**
   * Of two requests at once with one key, the first waits for the second, which gets this response
   * so many times.
   */
  | { atOnce: readonly ApiResponse[]; times: number }
);

/** The rows of each assumption. */
export type ServiceRows = Readonly<Record<string, readonly ServiceRow[]>>;

interface ServiceRow {
  change: ServiceChange;
  expect: CallEnds;
}

/** These calls end in a value, in undefined, or with this code of an error; the others as usual. */
export interface CallEnds {
  calls: readonly CallName[];
  end: "value" | "undefined" | IssuingErrorCode;
}

/** The calls of `client-calls.ts`. */
export type CallName =
  | "signUp"
  | "signUpAgain"
  | "signUpAtOnce"
  | "signUpAtOnceToo"
  | "signUpByEmail"
  | "signUpInvalid"
  | "signUpCorrected"
  | "signUpWithKeySuffix"
  | "signUpElsewhere"
  | "archivedTemplate"
  | "wrongKey"
  | "unknownCard"
  | "getConsent"
  | "giveConsent"
  | "getGivenConsent"
  | "withdrawConsent"
  | "getCard"
  | "listOperations"
  | "listTwoOperations"
  | "signUpLater"
  | "signUpUnderAnotherKey";

type EventType = keyof typeof eventExamples;

/** How deliveries differ. */
export type DeliveryChange = {
  /** The types of events that differ. Default: all. */
  events?: readonly EventType[];
} & (
  | { copies: number }
  /** Each event comes once with each of these members, under ids of their own. */
  | { members: readonly Members[] }
  /** Each event comes once with each of these members of its data, under ids of their own. */
  | { data: readonly Members[] }
  /** Changes the body before it is signed. */
  | { body(body: string): string }
  /** The attempts have these values of a header, in turn. */
  | { header: string; values: readonly HeaderValue[] }
  | { withoutHeader: string }
);

export type HeaderValue = (usual: string, attempt: Attempt) => string;

/** An attempt at a delivery. */
export interface Attempt {
  eventIndex: number;
  /** Whether its event was sent right before. */
  isRepeat: boolean;
  nowSeconds: number;
  /** The secret of the receiver that does not sign this attempt. */
  otherSecret: string;
  /** @returns a signature of the body. */
  sign(timestamp: number, secret?: string): string;
}

/** The rows of each assumption. */
export type DeliveryRows = Readonly<Record<string, readonly DeliveryRow[]>>;

export interface DeliveryRow {
  change: DeliveryChange;
  /** Of the receiver. Default: 300. */
  toleranceSeconds?: number;
  expect: Reception;
}

/** What the receiver does with the deliveries. It handles the events that it does not refuse. */
export interface Reception {
  /** Default: 204. Another status refuses every delivery. */
  status?: number;
  /** The types whose events go to this handler. Default: none. */
  unexpectedData?: readonly EventType[];
  /** The unknown types. Default: none. */
  otherTypes?: readonly string[];
}
