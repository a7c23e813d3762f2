/** Generated from control.yaml by `npm run generate`. Do not edit. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly Text: string;
        /** @enum {string} */
        readonly OperationId: "issueCard" | "getCard" | "listOperations" | "getConsent" | "setConsent";
        /** @enum {string} */
        readonly EventType: "card.added" | "card.removed" | "balance.changed" | "tier.changed" | "consent.changed" | "ping";
        /** A key that is valid (spec 5.2). */
        readonly ApiKey: {
            readonly key: string;
            readonly kind: components["schemas"]["ApiKeyKind"];
        };
        readonly ApiKeyInput: {
            readonly kind: components["schemas"]["ApiKeyKind"];
        };
        /** @enum {string} */
        readonly ApiKeyKind: "website" | "full";
        /** A template that cards are issued from (spec 2.7). */
        readonly Template: {
            readonly id: string;
            readonly name: string;
            readonly color?: string;
            readonly fields: readonly components["schemas"]["TemplateField"][];
            /** From the lowest tier to the highest. */
            readonly tiers: readonly components["schemas"]["Tier"][];
            readonly isArchived: boolean;
        };
        /** One field of a template. */
        readonly TemplateField: {
            readonly key: string;
            /** @enum {string} */
            readonly type: "name" | "text" | "number";
            readonly required: boolean;
            /** The name that people see. Default: the key. */
            readonly label?: string;
        };
        /** A template to create. */
        readonly TemplateInput: {
            /** Default: a generated id. */
            readonly id?: string;
            readonly name: components["schemas"]["Text"];
            /** Of the card, which has white text: `#8a5027`. */
            readonly color?: string;
            readonly fields?: readonly components["schemas"]["TemplateFieldInput"][];
            readonly tiers?: readonly components["schemas"]["Tier"][];
        };
        readonly TemplateFieldInput: {
            readonly key: components["schemas"]["Text"];
            /** @enum {string} */
            readonly type: "name" | "text" | "number";
            /** Default false. */
            readonly required?: boolean;
            /** The name that people see. Default: the key. */
            readonly label?: string;
        };
        /** A tier, and the lowest balance that has it. */
        readonly Tier: {
            readonly name: components["schemas"]["Text"];
            /** The lowest balance of the tier. */
            readonly from: number;
        };
        readonly PointsInput: {
            readonly points: number;
        };
        readonly CorrectionInput: {
            readonly change: number;
        };
        /** Points of old purchases that expire. */
        readonly Expiry: {
            readonly points: number;
            /** true: the points stay in the balance and only stop counting for the tier. Default false: they leave the balance. */
            readonly keepBalance?: boolean;
        };
        /** Where to send events, and which. */
        readonly EndpointInput: {
            readonly url: components["schemas"]["Text"];
            readonly events: components["schemas"]["EventTypes"];
        };
        readonly EndpointChange: {
            readonly url?: components["schemas"]["Text"];
            readonly events?: components["schemas"]["EventTypes"];
        };
        /** The selected events. A test event is sent whatever is selected. */
        readonly EventTypes: readonly components["schemas"]["EventType"][];
        /** How a clock runs. */
        readonly ClockSetting: {
            /** @enum {string} */
            readonly mode: "system" | "manual" | "scaled";
            /** Of a scaled clock: how many times as fast as real time. */
            readonly factor?: number;
        };
        readonly AdvanceInput: {
            readonly duration: string | number;
        };
        readonly FaultInput: components["schemas"]["StatusFault"] | components["schemas"]["LatencyFault"] | components["schemas"]["InProgressFault"] | components["schemas"]["HtmlFault"] | components["schemas"]["ConnectionFault"] | components["schemas"]["DeliveryFault"] | components["schemas"]["AttemptFault"];
        readonly StatusFault: {
            /** @enum {string} */
            readonly kind: "status";
            readonly phase: components["schemas"]["FaultPhase"];
            readonly match?: components["schemas"]["RequestMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
            readonly status: number;
            readonly retryAfterSeconds?: number;
        };
        readonly LatencyFault: {
            /** @enum {string} */
            readonly kind: "latency";
            readonly phase: components["schemas"]["FaultPhase"];
            readonly match?: components["schemas"]["RequestMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
            readonly delayMs: number;
        };
        /** An error status while the first request with the same idempotency key is being processed. */
        readonly InProgressFault: {
            /** @enum {string} */
            readonly kind: "in-progress";
            /** @enum {string} */
            readonly phase: "before";
            readonly match?: components["schemas"]["RequestMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
            /** How long the work goes on after the card is issued, on the service's clock. Default 0. */
            readonly durationMs?: number;
            /**
             * Default 409.
             * @enum {integer}
             */
            readonly status?: 409 | 423;
            readonly retryAfterSeconds?: number;
        };
        readonly HtmlFault: {
            /** @enum {string} */
            readonly kind: "html";
            readonly phase: components["schemas"]["FaultPhase"];
            readonly match?: components["schemas"]["RequestMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
            /**
             * Default 502.
             * @enum {integer}
             */
            readonly status?: 200 | 403 | 404 | 429 | 500 | 502 | 503 | 504;
        };
        readonly ConnectionFault: {
            /** @enum {string} */
            readonly kind: "reset" | "destroy" | "truncate" | "hang";
            readonly phase: components["schemas"]["FaultPhase"];
            readonly match?: components["schemas"]["RequestMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
        };
        /** An injected fault of webhook deliveries. */
        readonly DeliveryFault: {
            /** @enum {string} */
            readonly kind: "duplicate" | "reorder";
            readonly match?: components["schemas"]["EventMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
        };
        /** A delivery attempt that fails without being sent, as if the receiver had failed. */
        readonly AttemptFault: {
            /** @enum {string} */
            readonly kind: "fail";
            readonly match?: components["schemas"]["EventMatch"];
            readonly times?: components["schemas"]["FaultTimes"];
            /** Default: no response. */
            readonly status?: number;
        };
        /**
         * `before`: the operation does not run. `after-commit`: it runs, and only its response is affected.
         * @enum {string}
         */
        readonly FaultPhase: "before" | "after-commit";
        /** How often the rule applies. Default: until it is removed, where no newer rule and none with `times` matches. */
        readonly FaultTimes: number;
        readonly EventMatch: {
            readonly event?: components["schemas"]["EventType"];
        };
        /** Which requests a rule applies to. All members that are present must match. */
        readonly RequestMatch: {
            readonly operation?: components["schemas"]["OperationId"];
            readonly idempotencyKey?: components["schemas"]["Text"];
        };
        /** A request to the API (`/api/v1`). It does not contain the API key. Kept in memory only. */
        readonly TrafficRequest: {
            /** @enum {string} */
            readonly kind: "request";
            /** Unique within the service; sorts with event ids in the order of creation. */
            readonly id: string;
            /** When it arrived, by the service's clock, ISO 8601. */
            readonly at: string;
            /**
             * `console` when the mock's console sent it; `doctor` for a probe of `loyalty-cards doctor`, which is not listed under Problems when it is refused.
             * @enum {string}
             */
            readonly sentBy?: "console" | "doctor";
            readonly operation?: components["schemas"]["OperationId"];
            readonly method: string;
            /** With its query, at most 2 000 characters. */
            readonly path: string;
            /** The name of the API key; absent when the key is missing or unknown. */
            readonly apiKey?: string;
            readonly idempotencyKey?: string;
            /** The first 65 536 characters; absent when the operation has no body, and when the body could not be read. */
            readonly requestBody?: string;
            /** Absent when an injected fault broke the connection. */
            readonly status?: number;
            /** The first 65 536 characters; absent when an injected fault broke the connection. */
            readonly responseBody?: string;
            /** Real time, in milliseconds. */
            readonly durationMs: number;
            /** Why the request failed, such as `customer.consents is missing`, `unknown key` or `injected fault`; `replay` when the response repeats a card that was issued under the same idempotency key. It contains no values of the body. */
            readonly reason?: string;
            /** The fault that was injected. */
            readonly fault?: {
                readonly kind: string;
                readonly phase: components["schemas"]["FaultPhase"];
            };
            /** The card that was issued or that the path names. */
            readonly cardId?: string;
            /** The request is probably a mistake. */
            readonly warnings: readonly components["schemas"]["RequestWarning"][];
        };
        /** A request that the specification allows and that is probably a mistake. It contains keys, and no values or other personal data. */
        readonly RequestWarning: {
            /**
             * `replay-with-other-content`: an idempotency key was repeated with other content. `unknown-fields`: `fieldValues` has keys that the template does not have. `unknown-members`: the request or its `customer` has members that the service ignores. `second-card`: the customer had a card of the template, and got another one.
             * @enum {string}
             */
            readonly type: "replay-with-other-content" | "unknown-fields" | "unknown-members" | "second-card";
            /** What happened, and what to do. */
            readonly message: string;
            /** The keys that differ or are unknown, at most ten. */
            readonly fields?: readonly string[];
        };
        /** One request of a delivery, and its result. */
        readonly Attempt: {
            /** When it started, by the clock of the service; ISO 8601. */
            readonly at: string;
            /** The time in the signature; ISO 8601, whole seconds. */
            readonly signedAt: string;
            /**
             * The clock of `signedAt`. Over HTTP it is real time: a moved service clock would exceed the tolerance of a real receiver.
             * @enum {string}
             */
            readonly signedWith: "service" | "machine";
            /** The `Service-Signature` header of the request. Absent when no request was sent. */
            readonly signature?: string;
            /** The status of the response. */
            readonly status?: number;
            /** The start of the response's body, at most 1 000 characters. Absent when it is empty. */
            readonly responseBody?: string;
            /** Why there was no response; `injected fault; not sent` when a fault made the result. */
            readonly error?: string;
            /** Real time, in milliseconds. */
            readonly durationMs: number;
        };
        /** One event sent to one endpoint (spec 3.2). */
        readonly Delivery: {
            /** The value of `Service-Delivery`, the same for every attempt. */
            readonly id: string;
            readonly eventId: string;
            /** The request or the action that caused the event; absent for `ping`. */
            readonly causeId?: string;
            readonly type: components["schemas"]["EventType"];
            readonly endpointId: string;
            /** @enum {string} */
            readonly state: "pending" | "delivered" | "failed";
            /** Oldest first. */
            readonly attempts: readonly components["schemas"]["Attempt"][];
            /** ISO 8601; absent when no further attempt follows. */
            readonly nextAttemptAt?: string;
            /** The exact text that is sent and signed each time. */
            readonly body: string;
            /** Failed attempts since the delivery was created or resent. */
            readonly failures: number;
        };
        /** A delivery, as the list of the traffic has it. */
        readonly TrafficDelivery: components["schemas"]["Delivery"] & {
            /** @enum {string} */
            readonly kind: "delivery";
            /** When the newest attempt started, or when the event was created; by the service's clock, ISO 8601. */
            readonly at: string;
            /** The address of the endpoint; absent when it was deleted. */
            readonly url?: string;
            /** When the endpoint got a new secret, ISO 8601; absent when it did not. */
            readonly secretReplacedAt?: string;
            /** The entry with the id `causeId`; absent when it is no longer in the traffic. */
            readonly cause?: {
                /** Its `operation` or `type`, such as `purchase`. */
                readonly name: string;
                /** By the service's clock, ISO 8601. */
                readonly at: string;
            };
            /** The card of the event, or the customer's only card. */
            readonly cardId?: string;
            /** Absent for `ping`. */
            readonly customerId?: string;
        };
        /** What the staff did to a card, and that a customer added it to a wallet. */
        readonly Action: {
            /** @enum {string} */
            readonly kind: "action";
            /** Sorts with the ids of requests and events in the order of creation. */
            readonly id: string;
            /** By the service's clock, ISO 8601. */
            readonly at: string;
            readonly cardId: string;
            /** @enum {string} */
            readonly type: "purchase" | "redemption" | "reward" | "correction" | "cancellation" | "expiry" | "wallet" | "status";
            /** Of points. */
            readonly change?: number;
            /** Of an expiry: the points no longer count for the tier, and stay in the balance. */
            readonly keepsBalance?: boolean;
            readonly wallet?: string;
            /** Of a wallet: added or removed. */
            readonly isAdded?: boolean;
            /** The new status of the card. */
            readonly status?: string;
        };
        /** What the console shows of an entry besides. */
        readonly TrafficRow: {
            /** Sorts the entries by what happened last. */
            readonly position: string;
            /** What happened, such as `+20 → 140`, `marketing given` or `response lost; the card exists`; for people, its words may change. */
            readonly phrase: string;
            /** The name of the card's holder, or else the phone or the email; absent when it is not known. */
            readonly holder?: string;
            readonly found?: components["schemas"]["Found"];
        };
        /** Where the first word of `query` is that the row does not show; absent when it shows all of them. */
        readonly Found: {
            /** Such as `body`, `phone` or `idempotency key`. */
            readonly in: string;
            readonly before: string;
            /** The word. */
            readonly text: string;
            readonly after: string;
        };
        /** Requests, deliveries and actions; what happened last is first. */
        readonly Traffic: {
            readonly items: readonly ((components["schemas"]["TrafficRequest"] & components["schemas"]["TrafficRow"]) | (components["schemas"]["TrafficDelivery"] & components["schemas"]["TrafficRow"]) | (components["schemas"]["Action"] & components["schemas"]["TrafficRow"]))[];
            /** How many match. */
            readonly total: number;
            /** How many of those that match `query` and `after` have a problem. */
            readonly problems: number;
        };
        readonly Clock: {
            /** ISO 8601. */
            readonly now: string;
            /** @enum {string} */
            readonly mode: "system" | "manual" | "scaled";
            readonly factor?: number;
            /** When the next delivery attempt is due, ISO 8601; absent when none is. */
            readonly nextAttemptAt?: string;
            /** Changes whenever anything changed that the control API shows, except the time itself, and when the service was started again. */
            readonly version: number;
        };
        /** One of event, delivery and card. */
        readonly WaitCondition: {
            readonly event?: components["schemas"]["EventCondition"];
            readonly delivery?: components["schemas"]["DeliveryCondition"];
            readonly card?: components["schemas"]["CardCondition"];
            readonly count?: components["schemas"]["WaitCount"];
        };
        readonly WaitInput: {
            readonly event?: components["schemas"]["EventCondition"];
            readonly delivery?: components["schemas"]["DeliveryCondition"];
            readonly card?: components["schemas"]["CardCondition"];
            readonly count?: components["schemas"]["WaitCount"];
            readonly timeoutMs?: number;
        };
        readonly EventCondition: {
            readonly type?: components["schemas"]["EventType"];
            readonly id?: components["schemas"]["Text"];
            readonly data?: Record<string, unknown>;
        };
        readonly DeliveryCondition: {
            readonly id?: components["schemas"]["Text"];
            readonly eventId?: components["schemas"]["Text"];
            readonly endpointId?: components["schemas"]["Text"];
            readonly type?: components["schemas"]["EventType"];
            /** @enum {string} */
            readonly state?: "pending" | "delivered" | "failed";
        };
        /** The id of a card, and members that it has in a response of the API. */
        readonly CardCondition: {
            readonly id: components["schemas"]["Text"];
        };
        readonly WaitCount: number;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
