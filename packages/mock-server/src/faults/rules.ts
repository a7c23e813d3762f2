/** Rules for what goes wrong on purpose: what they may say, in which order they are tried, how often they hold. */
import { NotFoundError } from "../domain/not-found.ts";
import type { Domain, EventType } from "../domain/surroundings.ts";
import { type FaultInput, faultFaults } from "./fault-shape.ts";

/** A rule as it is kept. */
export type Fault = FaultInput & { id: string };

/** A fault of a request to the API. */
export type RequestFault = Extract<Fault, { phase: unknown }>;

export interface FaultStore {
  /** In the order in which they are tried. */
  faults: Map<string, Fault>;
}

/** A request, as far as rules look at it. */
export interface FaultTarget {
  operation?: string;
  method: string;
  path: string;
  idempotencyKey?: string | undefined;
}

/** @throws {InputError} for a rule that makes no sense; the message names the member. */
export function addFault(domain: Domain<FaultStore>, input: FaultInput): Fault {
  const own = structuredClone(input);
  faultFaults(own);
  const fault: Fault = { id: domain.newIdentifier("flt"), ...own };
  domain.state.faults.set(fault.id, fault);
  domain.tell({ type: "fault", id: fault.id, action: "created" });
  return fault;
}

export function removeFault({ state, tell }: Domain<FaultStore>, id: string): void {
  if (!state.faults.delete(id)) throw new NotFoundError(`There is no fault "${id}".`);
  tell({ type: "fault", id, action: "removed" });
}

export function clearFaults(domain: Domain<FaultStore>): void {
  for (const id of [...domain.state.faults.keys()]) removeFault(domain, id);
}

/** The rule that this request meets, counted as applied. */
export function takeRequestFault(
  domain: Domain<FaultStore>,
  phase: RequestFault["phase"],
  target: FaultTarget,
): RequestFault | undefined {
  return take(
    domain,
    (fault): fault is RequestFault =>
      "phase" in fault && fault.phase === phase && matchesRequest(fault, target),
  );
}

/** Whether a rule of this kind holds for an event on its way to an endpoint; counted when it does. */
export function takeDeliveryFault(
  domain: Domain<FaultStore>,
  kind: "duplicate" | "reorder" | "drop",
  { type, endpointId }: { type: EventType; endpointId: string },
): boolean {
  const found = take(domain, (fault): fault is Fault => {
    if (fault.kind !== kind) return false;
    const { event = type, endpointId: wanted = endpointId } = fault.match ?? {};
    return event === type && wanted === endpointId;
  });
  return found !== undefined;
}

function take<Kind extends Fault>(
  { state, tell }: Domain<FaultStore>,
  isMet: (fault: Fault) => fault is Kind,
): Kind | undefined {
  for (const fault of state.faults.values()) {
    if (!isMet(fault)) continue;
    if (fault.times !== undefined) {
      fault.times -= 1;
      if (fault.times === 0) state.faults.delete(fault.id);
      tell({ type: "fault", id: fault.id, action: fault.times === 0 ? "removed" : "changed" });
    }
    return fault;
  }
  return undefined;
}

function matchesRequest({ match = {} }: RequestFault, target: FaultTarget): boolean {
  return (
    (match.operation === undefined || match.operation === target.operation) &&
    (match.method === undefined || match.method.toUpperCase() === target.method) &&
    (match.idempotencyKey === undefined || match.idempotencyKey === target.idempotencyKey) &&
    (match.path === undefined || fits(match.path, target.path))
  );
}

/** `*` is any text. By hand, because a pattern made into a RegExp can be made to run for hours. */
function fits(pattern: string, path: string): boolean {
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
