/** What a rule for faults may say. */
import type { operations } from "@loyalty-cards/openapi";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { InputError, isObject, number, object, oneOf, type Shape, text } from "../domain/shape.ts";
import type { EventType } from "../domain/surroundings.ts";

/** Which requests a rule is about; all members that are given must hold. */
export interface RequestMatch {
  operation?: Exclude<keyof operations, `on${string}`>;
  method?: string;
  /** The path of the address; `*` is any text. */
  path?: string;
  idempotencyKey?: string;
}

interface RequestRule {
  /** `before`: the work is not done. `after-commit`: it is, and only its answer suffers. */
  phase: "before" | "after-commit";
  match?: RequestMatch;
  /** How often it holds; absent: until it is removed. */
  times?: number;
}

/** What goes wrong with requests: before the work, or after its commit. */
export type RequestFaultInput = RequestRule &
  (
    | { kind: "status"; status: number; retryAfterSeconds?: number }
    | { kind: "latency"; delayMs: number }
    | { kind: "html"; status?: number }
    | { kind: "reset" | "destroy" | "truncate" | "malformed" | "hang" }
  );

/** What goes wrong with webhooks. */
export interface DeliveryFaultInput {
  kind: "duplicate" | "reorder" | "drop";
  match?: { event?: EventType; endpointId?: string };
  times?: number;
}

/** A rule by which something goes wrong on purpose. */
export type FaultInput = RequestFaultInput | DeliveryFaultInput;

const operationIds = Object.values(openapi.paths).flatMap((path) =>
  Object.values(path).flatMap((operation) =>
    typeof operation === "object" && "operationId" in operation ? [operation.operationId] : [],
  ),
);

const times = number({ atLeast: 1, isWhole: true });
const errorStatus = number({ atLeast: 400, atMost: 599, isWhole: true });

/** A page needs a status that has a body. */
const pageStatus: Shape = (value, pointer) => {
  if (![204, 205, 304].includes(value as number)) {
    return number({ atLeast: 200, atMost: 599, isWhole: true })(value, pointer);
  }
  const detail = `"status" must not be ${value}: a response with that status has no body, so no page either.`;
  return [{ pointer, detail }];
};

const requestMatch = object({
  operation: oneOf(operationIds),
  method: text,
  path: text,
  idempotencyKey: text,
});
const deliveryMatch = object({ event: oneOf(Object.keys(openapi.webhooks)), endpointId: text });

const requestMembers = { phase: oneOf(["before", "after-commit"]), match: requestMatch, times };

/** A rule of each kind: its own members, and those it cannot do without. */
const requestKinds: Readonly<Record<RequestFaultInput["kind"], [Record<string, Shape>, string[]]>> = {
  status: [{ status: errorStatus, retryAfterSeconds: number({ atLeast: 0, isWhole: true }) }, ["status"]],
  latency: [{ delayMs: number({ atLeast: 0, atMost: 600_000 }) }, ["delayMs"]],
  html: [{ status: pageStatus }, []],
  reset: [{}, []],
  destroy: [{}, []],
  truncate: [{}, []],
  malformed: [{}, []],
  hang: [{}, []],
};

const deliveryKinds = ["duplicate", "reorder", "drop"] as const satisfies DeliveryFaultInput["kind"][];

/** @throws {InputError} */
export function faultFaults(input: unknown): void {
  const faults = shapeOf(input)(input, "");
  if (faults.length > 0) throw new InputError(faults);
}

function shapeOf(input: unknown): Shape {
  const kind = isObject(input) ? input["kind"] : undefined;
  const isKind = oneOf([...Object.keys(requestKinds), ...deliveryKinds]);
  if ((deliveryKinds as readonly unknown[]).includes(kind)) {
    return object({ kind: isKind, match: deliveryMatch, times });
  }
  if (typeof kind !== "string" || !Object.hasOwn(requestKinds, kind)) {
    return (value, pointer) =>
      isObject(value) ? isKind(kind, `${pointer}/kind`) : object({})(value, pointer);
  }
  const [own, required] = requestKinds[kind as RequestFaultInput["kind"]];
  return object({ kind: isKind, ...requestMembers, ...own }, ["phase", ...required]);
}
