/** Building blocks of cases: what they change, and what they expect. */
import { operations } from "@loyalty-cards/openapi/operations";
import type {
  ApiRequest,
  ApiResponse,
  Attempt,
  Case,
  Cases,
  Ends,
  HeaderLines,
  Members,
  Operation,
  Run,
  SentEvent,
  Step,
} from "./case.ts";

/** One or several. */
type Some<Name> = Name | readonly Name[];
const has = <Name>(names: Some<Name>, name: unknown) => [names].flat().some((one) => one === name);

/** A case in which these calls end so. */
export const ends = (end: string, steps: Some<Step>, one: Case): Case => {
  const expected: Ends = Object.fromEntries([steps].flat().map((step) => [step, end]));
  return { ...one, ends: { ...one.ends, ...expected } };
};

/** Cases in which these calls end alike. */
export const allEnd = (end: string, steps: Some<Step>, cases: Cases): Cases =>
  each(Object.entries(cases), ([name, one]) => [name, ends(end, steps, one)]);

/** One case for each item. */
export const each = <Item>(items: readonly Item[], toCase: (item: Item) => [name: string, Case]): Cases =>
  Object.fromEntries(items.map(toCase));

/** One case for each value of a member. */
export const values = (
  member: string,
  items: readonly unknown[],
  change: (changed: Members) => Case,
): Cases =>
  each(items, (value) => [`${member} is ${JSON.stringify(value) ?? "absent"}`, change({ [member]: value })]);

/** New members, or a function that returns them; undefined removes a member. */
type Change<Target> = Partial<Target> | ((old: Target) => Partial<Target>);
const apply = <Target>(change: Change<Target>, old: Target): Target => ({
  ...old,
  ...(typeof change === "function" ? change(old) : change),
});

/** Changes every card, in the service and in its responses. */
export const cards = (change: Change<Members>): Case => ({ card: (card) => apply(change, card) });

export const cardOperations: readonly Operation[] = ["issueCard", "getCard"];
export const consentOperations: readonly Operation[] = ["getConsent", "setConsent"];
export const allOperations = Object.keys(operations) as Operation[];

/** Changes the responses of these operations, by default the successful ones. */
export const responses = (
  operations: Some<Operation>,
  change: Change<ApiResponse>,
  isMeant = ({ status }: ApiResponse) => status < 300,
): Case => ({
  async api(request, next) {
    const response = await next(request);
    return has(operations, request.operation) && isMeant(response) ? apply(change, response) : response;
  },
});

/** Changes every response with this status. */
export const responsesWith = (status: number, change: Change<ApiResponse>): Case =>
  responses(allOperations, change, (response) => response.status === status);

/** Replaces the bodies of successful responses. */
export const bodies = (operations: Some<Operation>, change: (body: never) => unknown): Case =>
  responses(operations, ({ body }) => ({ body: change(body as never) }));

/** Changes members of the bodies of successful responses. */
export const bodyMembers = (operations: Some<Operation>, change: Change<Members>): Case =>
  bodies(operations, (body: Members) => apply(change, body));

/** Responds to requests of these operations in place of the mock service, unless the function returns undefined. */
export const instead = (
  operations: Some<Operation>,
  respond: (request: ApiRequest, run: Run) => ApiResponse | undefined,
): Case => ({
  api: async (request, next, run) =>
    (has(operations, request.operation) ? respond(request, run) : undefined) ?? (await next(request)),
});

/** How a call ends after an error with this status, which no retry can change. */
const codes: Record<number, string> = {
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  422: "validation",
};

/** Responds with an error to some requests of these operations. @param steps the calls that end with it. */
export const refuse = (
  operations: Some<Operation>,
  status: number,
  steps: Some<Step>,
  isMeant: (request: ApiRequest, run: Run) => boolean = () => true,
): Case =>
  ends(
    codes[status] ?? "rejected",
    steps,
    instead(operations, (request, run) => (isMeant(request, run) ? problem(status) : undefined)),
  );

/** Changes the requests of an operation, before the mock service gets them. */
export const requests = (operations: Some<Operation>, change: Change<ApiRequest>): Case => ({
  api: (request, next) => next(has(operations, request.operation) ? apply(change, request) : request),
});

export const json = { "content-type": "application/json" };
export const html = { "content-type": "text/html; charset=utf-8" };
export const problem = (status: number, headers: Record<string, string> = {}): ApiResponse => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: { type: "about:blank", title: "No", status, detail: "Please call us." },
});
export const bare = (status: number) => ({ status, body: undefined });
export const redirect = (location: string) => ({ status: 303, headers: { location }, body: undefined });

export const getCustomer = ({ body }: ApiRequest): Members =>
  (body as { customer?: Members } | undefined)?.customer ?? {};
export const getKey = ({ headers }: ApiRequest) => headers.get("idempotency-key") ?? "";

/** Changes the data of events of these types. */
export const eventData = (types: Some<string>, change: (data: Members) => unknown): Case => ({
  event: (event) => [has(types, event.type) ? { ...event, data: change(event.data) as Members } : event],
});

/** Replaces members of the data of events of these types. */
export const eventMembers = (types: Some<string>, change: Change<Members>): Case =>
  eventData(types, (data) => apply(change, data));

/** Changes every event. */
export const events = (change: (event: SentEvent, number: number, run: Run) => Partial<SentEvent>): Case => ({
  event: (event, run) => [{ ...event, ...change(event, run.count("events"), run) }],
});

/** Replaces an event of these types by several. */
export const several = (types: Some<string>, change: (event: SentEvent) => SentEvent[]): Case => ({
  event: (event) => (has(types, event.type) ? change(event) : [event]),
});

/** Changes or removes one header. */
export const header = (name: string, value?: (old: string, attempt: Attempt) => string): Case => ({
  headers: (headers, attempt) =>
    headers.flatMap(([key, old]): HeaderLines => {
      if (key !== name) return [[key, old]];
      return value === undefined ? [] : [[key, value(old, attempt)]];
    }),
});
