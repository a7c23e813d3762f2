/** Rules for injected faults: adds them, removes them, and finds the one that applies. */
import type { components } from "@loyalty-cards/openapi/control";
import { isFaultInput } from "@loyalty-cards/openapi/control-validators";
import type { Domain } from "../domain/context.ts";
import { createNotFoundError } from "../domain/errors.ts";
import { generateId } from "../domain/ids.ts";
import type { EventType, Fault } from "../domain/state.ts";
import { validateInput } from "../domain/validation.ts";

/**
 * A rule that injects a failure into webhook deliveries. With `phase` it injects one into requests
 * to the API, before the operation runs or after its commit.
 */
export type FaultInput = components["schemas"]["FaultInput"];

/** A stored rule for requests. */
export type RequestFault = Extract<Fault, { phase: unknown }>;
type DeliveryFault = Exclude<Fault, RequestFault>;

/** What became of earlier requests with the same idempotency key. */
export interface EarlierRequests {
  /** Whether one of them is still being processed. */
  isInProgress: boolean;
  /** How long ago a card was issued under the key. */
  cardAgeMs?: number | undefined;
}

/** What a rule can match of a request. */
export interface FaultTarget extends EarlierRequests {
  operation: string;
  idempotencyKey: string | undefined;
}

/**
 * Adds a rule after those with `times`, which are used up, and before those that stay: of these the
 * newest applies.
 * @throws {InputError} for an invalid rule; the message names the member.
 */
export function addFault(domain: Domain, input: FaultInput): Fault {
  // A copy, which the caller cannot change later.
  const valid = validateInput(isFaultInput, structuredClone(input), "The fault");
  const fault: Fault = { id: generateId("flt"), ...valid };
  const earlier = [...domain.state.faults.values()];
  const inOrder = [
    ...earlier.filter(({ times }) => times !== undefined),
    fault,
    ...earlier.filter(({ times }) => times === undefined),
  ];
  domain.state.faults = new Map(inOrder.map((each) => [each.id, each]));
  domain.notifyChange();
  return fault;
}

export function removeFault({ state, notifyChange }: Domain, id: string): void {
  if (!state.faults.delete(id)) throw createNotFoundError("fault", id);
  notifyChange();
}

export function clearFaults(domain: Domain): void {
  for (const id of [...domain.state.faults.keys()]) removeFault(domain, id);
}

/** Returns the first rule that matches a request, and counts it as applied. */
export const takeRequestFault = (
  domain: Domain,
  phase: RequestFault["phase"],
  target: FaultTarget,
): RequestFault | undefined =>
  takeFirst(
    domain,
    (fault): fault is RequestFault =>
      "phase" in fault && fault.phase === phase && matchesRequest(fault, target),
  );

/** Returns the first rule of this kind that matches a delivery, and counts it as applied. */
export const takeDeliveryFault = <Kind extends DeliveryFault["kind"]>(
  domain: Domain,
  kind: Kind,
  type: EventType,
) =>
  takeFirst(
    domain,
    (fault): fault is Extract<DeliveryFault, { kind: Kind }> =>
      !("phase" in fault) && fault.kind === kind && matchesEvent(fault, type),
  );

function takeFirst<Kind extends Fault>(
  { state, notifyChange }: Domain,
  isMet: (fault: Fault) => fault is Kind,
): Kind | undefined {
  const fault = [...state.faults.values()].find(isMet);
  if (fault?.times === undefined) return fault;
  if (fault.times === 1) state.faults.delete(fault.id);
  // The fault keeps its place in the order.
  else state.faults.set(fault.id, { ...fault, times: fault.times - 1 });
  notifyChange();
  return fault;
}

function matchesRequest(fault: RequestFault, target: FaultTarget): boolean {
  if (fault.kind === "in-progress" && !isStillInProgress(target, fault.durationMs)) return false;
  const { operation, idempotencyKey } = fault.match ?? {};
  return (
    (operation === undefined || operation === target.operation) &&
    (idempotencyKey === undefined || idempotencyKey === target.idempotencyKey)
  );
}

/** A request also counts as in progress for some time after it issued a card. */
const isStillInProgress = ({ isInProgress, cardAgeMs }: EarlierRequests, durationMs = 0) =>
  isInProgress || (cardAgeMs !== undefined && cardAgeMs < durationMs);

const matchesEvent = ({ match }: DeliveryFault, type: EventType) =>
  match?.event === undefined || match.event === type;
