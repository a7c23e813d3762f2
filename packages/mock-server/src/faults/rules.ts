/** Rules for injected faults: adds them, removes them, and finds the one that applies. */
import type { components } from "@loyalty-cards/openapi/control";
import { FaultInput as FaultInputSchema } from "@loyalty-cards/openapi/control-validators";
import { type Domain, NotFoundError } from "../domain/context.ts";
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
  method: string;
  path: string;
  idempotencyKey: string | undefined;
  /** Whether another request with the same idempotency key is being processed. */
  isInProgress: boolean;
  /** How long ago a card was issued under the idempotency key. */
  cardAgeMs: number | undefined;
}

/** @throws {InputError} for an invalid rule; the message names the member. */
export function addFault(domain: Domain, input: FaultInput): Fault {
  const valid = validateInput(FaultInputSchema, structuredClone(input)); // a copy, which the caller cannot change later
  const fault: Fault = { id: domain.generateId("flt"), ...valid };
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

/** Whether a rule of this kind matches a delivery. Counts the rule as applied. */
export function takeDeliveryFault(
  domain: Domain,
  kind: "duplicate" | "reorder" | "drop",
  { type, endpointId }: { type: EventType; endpointId: string },
): boolean {
  const found = takeFirst(domain, (fault): fault is Fault => {
    if (fault.kind !== kind) return false;
    const { event = type, endpointId: wanted = endpointId } = fault.match ?? {};
    return event === type && wanted === endpointId;
  });
  return found !== undefined;
}

function takeFirst<Kind extends Fault>(
  { state, notifyChange }: Domain,
  isMet: (fault: Fault) => fault is Kind,
): Kind | undefined {
  const fault = [...state.faults.values()].find(isMet);
  if (fault?.times !== undefined) {
    if (fault.times === 1) state.faults.delete(fault.id);
    else state.faults.set(fault.id, { ...fault, times: fault.times - 1 }); // keeps its place in the order
    notifyChange();
  }
  return fault;
}

function matchesRequest(fault: RequestFault, target: FaultTarget): boolean {
  const { operation, method, idempotencyKey, path } = fault.match ?? {};
  const { isInProgress, cardAgeMs = Number.POSITIVE_INFINITY } = target;
  if (fault.kind === "in-progress" && !isInProgress && cardAgeMs >= (fault.durationMs ?? 0)) return false;
  return (
    (operation === undefined || operation === target.operation) &&
    (method === undefined || method.toUpperCase() === target.method) &&
    (idempotencyKey === undefined || idempotencyKey === target.idempotencyKey) &&
    (path === undefined || matchesPattern(path, target.path))
  );
}

/** `*` matches any text. Not a RegExp, because some patterns would take hours. */
function matchesPattern(pattern: string, path: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (!path.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return path === first;
  let at = first.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return path.length - last.length >= at && path.endsWith(last);
}
