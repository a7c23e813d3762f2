/** All rules for differences between two contracts, and which of them are breaking. */

/** Requests are written by the client; responses and events are read by it. */
export type Direction = "request" | "response";

export type DriftSeverity = "breaking" | "compatible";

/**
 * What each difference means to a program that was built against the contract: a client that sends requests, and a
 * client or receiver that reads responses and events. Where a rule depends on the direction, both are given.
 */
export const driftRules = {
  // Operations and events.
  "operation-removed": { severity: "breaking", reason: "The client calls this operation." },
  "event-removed": { severity: "breaking", reason: "Handlers of this event are no longer called." },
  "base-path-changed": {
    severity: "breaking",
    reason: "The client sends its requests below /api/v1 of the service's address.",
  },
  "signature-changed": {
    severity: "breaking",
    reason: "Receivers reject a delivery without a v1 signature.",
  },
  "authentication-changed": { severity: "breaking", reason: "The client sends Authorization: Bearer." },
  "media-type-changed": { severity: "breaking", reason: "The client sends and reads JSON." },
  "request-body-removed": { severity: "breaking", reason: "The client sends this body." },
  "request-body-added": { severity: "breaking", reason: "The client sends no body here." },
  "response-body-removed": { severity: "breaking", reason: "The client reads this body." },
  "success-status-changed": { severity: "compatible", reason: "The client accepts every 2xx status." },
  "status-removed": {
    severity: "breaking",
    reason: "The client expects it: a success, or the status of an error that the specification names.",
  },
  "status-added": { severity: "compatible", reason: "The client has an error code for every status." },
  "list-wrapper-changed": {
    severity: "compatible",
    reason: "listOperations reads the list in this form too.",
  },
  // Parameters of requests, and headers of deliveries.
  "parameter-added": { severity: "compatible", reason: "The client can omit it; receivers ignore it." },
  "parameter-removed": {
    severity: "breaking",
    reason: "The client sends it and expects its effect; receivers read it.",
  },
  "parameter-required": {
    severity: { request: "breaking", response: "compatible" },
    reason: "The client does not always send it; receivers get more than they expect.",
  },
  "parameter-optional": {
    severity: { request: "compatible", response: "breaking" },
    reason: "The client can continue to send it; receivers expect it.",
  },
  "always-sent-required": { severity: "compatible", reason: "The client always sends it." },
  // Properties of objects.
  "property-added": {
    severity: "compatible",
    reason: "Requests can omit it; readers ignore unknown properties.",
  },
  "required-property-added": {
    severity: { request: "breaking", response: "compatible" },
    reason: "Requests without it are rejected; readers ignore unknown properties.",
  },
  "property-removed": { severity: "breaking", reason: "The client sends it, or programs read it." },
  "optional-property-removed": {
    severity: { request: "breaking", response: "compatible" },
    reason: "The value that the client sends is ignored or rejected; readers already handle its absence.",
  },
  "property-required": {
    severity: { request: "breaking", response: "compatible" },
    reason: "Requests without it are rejected; readers get more than they expect.",
  },
  "property-optional": {
    severity: { request: "compatible", response: "breaking" },
    reason: "Requests can still contain it; programs read it without a check.",
  },
  // Types and values.
  "type-changed": { severity: "breaking", reason: "Valid values become invalid, and other values appear." },
  "composition-changed": {
    severity: "breaking",
    reason: "Different alternatives are not analyzed, so they count as breaking.",
  },
  "type-widened": {
    severity: { request: "compatible", response: "breaking" },
    reason: "Requests stay valid; programs read values of a type they do not expect.",
  },
  "type-narrowed": {
    severity: { request: "breaking", response: "compatible" },
    reason: "Values that were valid are rejected; readers get fewer types.",
  },
  "values-added": {
    severity: { request: "compatible", response: "breaking" },
    reason: "Requests stay valid; programs read a value they do not expect.",
  },
  "values-removed": {
    severity: { request: "breaking", response: "compatible" },
    reason: "Values that were valid are rejected; readers get fewer values.",
  },
  "known-values-changed": {
    severity: "compatible",
    reason: "The set is open: programs handle other values.",
  },
  "limit-tightened": {
    severity: { request: "breaking", response: "compatible" },
    reason: "Values that were valid may be rejected; readers get fewer values.",
  },
  "limit-loosened": { severity: "compatible", reason: "Requests stay valid; no reader depends on a limit." },
  "format-changed": { severity: "breaking", reason: "The text has another format." },
  "format-added": {
    severity: { request: "breaking", response: "compatible" },
    reason: "Texts in another format are rejected; readers get fewer values.",
  },
  "format-expected": {
    severity: "compatible",
    reason: "The service issued the ids, and rejects a malformed phone or email in any case.",
  },
} as const satisfies Record<
  string,
  { severity: DriftSeverity | Record<Direction, DriftSeverity>; reason: string }
>;

export type DriftRule = keyof typeof driftRules;

export interface Place {
  /** The operationId of the contract, or the type of an event. */
  operation: string;
  direction: Direction;
  /** `Card.status`; without a component `issueCard › templateId`. */
  path: string;
}

export type Report = (rule: DriftRule, place: Place, detail: string) => void;
