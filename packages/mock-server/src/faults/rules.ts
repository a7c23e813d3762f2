/** Rules for injected faults: adds them, removes them, and finds the one that applies. */
import type { components } from "@loyalty-cards/openapi/control";
import { FaultInput as FaultInputSchema } from "@loyalty-cards/openapi/control-validators";
import { type Domain, generateId, NotFoundError } from "../domain/context.ts";
import { validateInput } from "../domain/problem.ts";
import type { EventType, Fault } from "../domain/state.ts";

/**
 * A rule that injects a failure into webhook deliveries. With `phase` it injects one into requests to the API, before the operation
 * runs or after its commit.
 */
export type FaultInput = components["schemas"]["FaultInput"];

/** A stored rule for requests. */
export type RequestFault = Extract<Fault, { phase: unknown }>;

/** The members of a request that a rule can match. */
export interface FaultTarget {
  operation: string;
  idempotencyKey: string | undefined;
  /** Whether another request with the same idempotency key is being processed. */
  isInProgress: boolean;
  /** How long ago a card was issued under the idempotency key. */
  cardAgeMs: number | undefined;
}

/** @throws {InputError} for an invalid rule; the message names the member. */
export function addFault(domain: Domain, input: FaultInput): Fault {
  const valid = validateInput(FaultInputSchema, structuredClone(input)); // a copy, which the caller cannot change later
  const fault: Fault = { id: generateId("flt"), ...valid };
  domain.state.faults.set(fault.id, fault);
  domain.notifyChange();
  return fault;
}

export function removeFault({ state, notifyChange }: Domain, id: string): void {
  if (!state.faults.delete(id)) throw new NotFoundError(`There is no fault "${id}".`);
  notifyChange();
}

export function clearFaults(domain: Domain): void {
  for (const id of [...domain.state.faults.keys()]) removeFault(domain, id);
}

/** Returns the first rule that matches a request, and counts it as applied. */
export const takeRequestFault = (domain: Domain, phase: RequestFault["phase"], target: FaultTarget) =>
  takeFirst(domain, (fault) => "phase" in fault && fault.phase === phase && matchesRequest(fault, target)) as
    | RequestFault
    | undefined;

/** Whether a rule of this kind matches a delivery. Counts the rule as applied. */
export const takeDeliveryFault = (domain: Domain, kind: "duplicate" | "reorder", type: EventType): boolean =>
  takeFirst(domain, (fault) => fault.kind === kind && (fault.match?.event ?? type) === type) !== undefined;

function takeFirst({ state, notifyChange }: Domain, isMet: (fault: Fault) => boolean): Fault | undefined {
  const fault = [...state.faults.values()].find(isMet);
  if (fault?.times !== undefined) {
    if (fault.times === 1) state.faults.delete(fault.id);
    else state.faults.set(fault.id, { ...fault, times: fault.times - 1 }); // keeps its place in the order
    notifyChange();
  }
  return fault;
}

function matchesRequest(fault: RequestFault, target: FaultTarget): boolean {
  const { operation, idempotencyKey } = fault.match ?? {};
  const { isInProgress, cardAgeMs = Number.POSITIVE_INFINITY } = target;
  if (fault.kind === "in-progress" && !isInProgress && cardAgeMs >= (fault.durationMs ?? 0)) return false;
  return (
    (operation === undefined || operation === target.operation) &&
    (idempotencyKey === undefined || idempotencyKey === target.idempotencyKey)
  );
}
