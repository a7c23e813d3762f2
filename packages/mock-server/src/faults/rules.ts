/** Rules for injected faults: adds them, removes them, and finds the one that applies. */
import type { components } from "@loyalty-cards/openapi/control";
import { FaultInput as FaultInputSchema } from "@loyalty-cards/openapi/control-validators";
import { type Domain, type EventType, NotFoundError } from "../domain/context.ts";
import { validateInput } from "../domain/problem.ts";

/**
 * A rule that injects a failure into webhook deliveries. With `phase` it injects one into requests to the API, before the operation
 * runs or after its commit.
 */
export type FaultInput = components["schemas"]["FaultInput"];

/** A stored rule. */
export type Fault = FaultInput & { id: string };

/** A stored rule for requests. */
export type RequestFault = Extract<Fault, { phase: unknown }>;

export interface FaultStore {
  /** In the order in which they are matched. */
  faults: Map<string, Fault>;
}

/** The members of a request that a rule can match. */
export interface FaultTarget {
  operation?: string;
  method: string;
  path: string;
  idempotencyKey?: string | undefined;
  /** Whether another request with the same idempotency key is being processed. */
  isFirstInFlight?: boolean;
  /** How long ago a card was issued under the idempotency key. */
  cardAgeMs?: number | undefined;
}

/** @throws {InputError} for an invalid rule; the message names the member. */
export const addFault = (domain: Domain<FaultStore>, input: FaultInput): Fault =>
  storeFault(domain, validateInput(FaultInputSchema, structuredClone(input)));

/** @param input a valid rule, which the caller does not change later. */
export function storeFault(domain: Domain<FaultStore>, input: FaultInput): Fault {
  const fault: Fault = { id: domain.generateId("flt"), ...input };
  domain.state.faults.set(fault.id, fault);
  domain.notifyChange({ type: "fault", id: fault.id, action: "created" });
  return fault;
}

export function removeFault({ state, notifyChange }: Domain<FaultStore>, id: string): void {
  if (!state.faults.delete(id)) throw new NotFoundError(`There is no fault "${id}".`);
  notifyChange({ type: "fault", id, action: "removed" });
}

export function clearFaults(domain: Domain<FaultStore>): void {
  for (const id of [...domain.state.faults.keys()]) removeFault(domain, id);
}

/** Returns the first rule that matches a request, and counts it as applied. */
export function takeRequestFault(
  domain: Domain<FaultStore>,
  phase: RequestFault["phase"],
  target: FaultTarget,
): RequestFault | undefined {
  return takeFirst(
    domain,
    (fault): fault is RequestFault =>
      "phase" in fault && fault.phase === phase && matchesRequest(fault, target),
  );
}

/** Whether a rule of this kind matches a delivery. Counts the rule as applied. */
export function takeDeliveryFault(
  domain: Domain<FaultStore>,
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
  { state, notifyChange }: Domain<FaultStore>,
  isMet: (fault: Fault) => fault is Kind,
): Kind | undefined {
  for (const fault of state.faults.values()) {
    if (!isMet(fault)) continue;
    if (fault.times !== undefined) {
      const times = fault.times - 1;
      if (times === 0) state.faults.delete(fault.id);
      else state.faults.set(fault.id, { ...fault, times }); // keeps its place in the order
      notifyChange({ type: "fault", id: fault.id, action: times === 0 ? "removed" : "changed" });
    }
    return fault;
  }
  return undefined;
}

function matchesRequest(fault: RequestFault, target: FaultTarget): boolean {
  const { match = {} } = fault;
  return (
    (fault.kind !== "in-progress" ||
      target.isFirstInFlight === true ||
      (target.cardAgeMs ?? Number.POSITIVE_INFINITY) < (fault.durationMs ?? 0)) &&
    (match.operation === undefined || match.operation === target.operation) &&
    (match.method === undefined || match.method.toUpperCase() === target.method) &&
    (match.idempotencyKey === undefined || match.idempotencyKey === target.idempotencyKey) &&
    (match.path === undefined || matchesPattern(match.path, target.path))
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
