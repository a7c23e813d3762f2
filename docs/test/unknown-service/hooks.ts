/** Building blocks of mutations: functions that change requests, responses, events and headers. */
import type { MockService } from "../../../packages/mock-server/src/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type Hooks,
  type Members,
  type Mutation,
  mutation,
  type Operation,
  type Respond,
  type SentDelivery,
  type SentEvent,
  type Signing,
  type Step,
  signUps,
  stored,
} from "./mutation.ts";
/** Changes the successful responses of these operations. */
export function changeResponses(
  operations: readonly Operation[],
  change: (response: ApiResponse, request: ApiRequest) => Partial<ApiResponse>,
  isMeant: (response: ApiResponse) => boolean = ({ status }) => status < 300,
): Pick<Hooks, "api"> {
  return {
    async api(request, next) {
      const response = await next(request);
      const isOurs = request.operation !== undefined && operations.includes(request.operation);
      return isOurs && isMeant(response) ? { ...response, ...change(response, request) } : response;
    },
  };
}

/** Changes every response with this status. */
export const changeResponsesWithStatus = (
  status: number,
  change: (response: ApiResponse) => Partial<ApiResponse>,
) => changeResponses(allOperations, change, (response) => response.status === status);

export const allOperations: readonly Operation[] = [
  "issueCard",
  "getCard",
  "listOperations",
  "getConsent",
  "setConsent",
];

/** Replaces members of a body; undefined removes a member. */
export const withMembers = (body: unknown, members: Members): Members => ({
  ...(body as Members),
  ...members,
});

/** Changes the data of events of these types. */
export function changeEventData(
  types: readonly string[],
  change: (data: Members, event: SentEvent) => unknown,
): Pick<Hooks, "event"> {
  return {
    event: (event) => [
      types.includes(String(event.type)) ? { ...event, data: change(event.data, event) as Members } : event,
    ],
  };
}

/** Changes the headers of a delivery. */
export const changeHeaders = (
  change: (headers: SentDelivery["headers"], signing: Signing) => SentDelivery["headers"],
): Pick<Hooks, "delivery"> => ({
  delivery: ({ headers, body }, signing) => ({ headers: change(headers, signing), body }),
});

/** Replaces or removes one header. */
export const changeHeader = (name: string, value: ((old: string, signing: Signing) => string) | undefined) =>
  changeHeaders((headers, signing) =>
    headers.flatMap(([each, old]): SentDelivery["headers"] => {
      if (each.toLowerCase() !== name) return [[each, old]];
      return value === undefined ? [] : [[each, value(old, signing)]];
    }),
  );

/** Combines several mutations; the first one is applied first. */
export function combineHooks(hooks: readonly Hooks[]): Required<Hooks> {
  return {
    card: (card) => hooks.reduce((changed, { card: change }) => change?.(changed) ?? changed, card),
    api: (request, next) =>
      hooks.reduce<Respond>(
        (inner, { api }) => (api === undefined ? inner : (each) => api(each, inner)),
        next,
      )(request),
    event: (event) =>
      hooks.reduce((events, { event: change }) => (change ? events.flatMap(change) : events), [event]),
    delivery: (delivery, signing) =>
      hooks.reduce((changed, { delivery: change }) => change?.(changed, signing) ?? changed, delivery),
  };
}

export const cardOperations: readonly Operation[] = ["issueCard", "getCard"];

export const json = { "content-type": "application/json" };

export const problem = { "content-type": "application/problem+json" };

export const cardSteps: readonly Step[] = [...signUps, "getCard"];

/** Changes every card, in the service and in its responses. */
export const changeCards = (row: string, name: string, members: (card: Members) => Members): Mutation =>
  mutation(row, name, { card: (card) => withMembers(card, members(card)) });

/** Rejects requests that issue a card, before they reach the mock service. */
export function rejectIssuing(
  isMeant: (request: { body: unknown; headers: Headers }) => boolean,
  status: number,
  body: unknown = { type: "about:blank", title: "No", status, detail: "Please correct this." },
): Hooks {
  return {
    async api(request, next) {
      return request.operation === "issueCard" && isMeant(request)
        ? { status, headers: problem, body }
        : await next(request);
    },
  };
}

export const getPhone = (body: unknown) =>
  (body as { customer?: { phone?: string } } | undefined)?.customer?.phone;

export const findCustomer = (service: MockService, body: unknown) =>
  [...stored(service).customers.values()].find(
    ({ phone }) => phone !== undefined && phone === getPhone(body),
  );

export const getKey = ({ headers }: { headers: Headers }) => headers.get("idempotency-key") ?? "";

export const getName = (body: unknown) =>
  (body as { customer?: { name?: string } } | undefined)?.customer?.name;

/** Changes the response to a repeated key. */
export const changeReplays = (change: (response: ApiResponse) => Partial<ApiResponse>) => (): Hooks => {
  const firsts = new Map<string, ApiResponse>();
  return {
    async api(request, next) {
      const response = await next(request);
      if (request.operation !== "issueCard" || response.status >= 300) return response;
      const first = firsts.get(getKey(request));
      if (first === undefined) firsts.set(getKey(request), response);
      return first === undefined ? response : { ...first, ...change(response) };
    },
  };
};

export const replays: readonly Step[] = ["signUpAgain", "signUpAtOnceToo", "signUpLater"];

export const inProgress = (status: number): ApiResponse => ({
  status,
  headers: problem,
  body: { status, title: "Under way" },
});

export const html = { "content-type": "text/html; charset=utf-8" };

export const createProblem = (status: number): ApiResponse => ({
  status,
  headers: problem,
  body: { type: "about:blank", title: "No", status, detail: "Please call us." },
});

export const bare = (status: number): Partial<ApiResponse> => ({ status, body: undefined });

export const lists: readonly Step[] = ["listOperations", "listTwoOperations"];

/** What the service does with the requests of some operations instead of its work. */
export const respondInstead = (
  operations: readonly Operation[],
  response: (request: ApiRequest) => ApiResponse | undefined,
): Hooks => ({
  async api(request, next) {
    const isOurs = request.operation !== undefined && operations.includes(request.operation);
    return (isOurs ? response(request) : undefined) ?? (await next(request));
  },
});

export const consents: readonly Step[] = ["getConsent", "getGivenConsent"];
