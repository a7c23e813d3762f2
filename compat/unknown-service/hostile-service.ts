/** The mock service, changed as one row says. */
import { operations } from "@loyalty-cards/openapi/operations";
import { createGate } from "@loyalty-cards/testing/resources";
import { createMockService } from "../../packages/mock-server/src/index.ts";
import { twinName } from "./expectations.ts";
import type { ApiRequest, ApiResponse, Members, ServiceChange } from "./row.ts";

/** What a service does with a request; `process` is what the mock service does. */
export type Respond = (request: ApiRequest, process: Process) => Promise<ApiResponse>;
type Process = (request: ApiRequest) => Promise<ApiResponse>;

/** Returns a service for each item of a list in the change. */
export function listServices(change: ServiceChange): Respond[] {
  const { operations = [], request: toRequest } = change;
  return listDifferences(change).map((respond): Respond => {
    return async (request, process) => {
      const differs = operations.length === 0 || operations.includes(request.operation);
      if (!differs) return process(request);
      return respond({ ...request, ...toRequest?.(request) }, process);
    };
  });
}

/** The same for the requests to operations that differ. */
function listDifferences(change: ServiceChange): Respond[] {
  if ("customer" in change) return [readCustomer(change)];
  if ("keys" in change) return change.keys.map(readKey);
  if ("refuses" in change) return change.responses.map((response) => refuse(change, response));
  if ("firstResponses" in change) return change.firstResponses.map(respondFirst);
  if ("sameBy" in change) return change.responses.map((parts) => replay(change, parts));
  if ("lost" in change) return change.lost.map((lost) => lose(change, lost));
  if ("anotherKey" in change) return [rejectAnotherKey(change)];
  if ("atOnce" in change) return change.atOnce.map((response) => collide(change, response));
  return listEdits(change).map((edit) => editResponses(change, edit));
}

/** The change with this member. */
type Having<Name extends string> = Extract<ServiceChange, Record<Name, unknown>>;

const getKey = ({ headers }: ApiRequest) => headers["idempotency-key"] ?? "";
const getPhone = ({ body }: ApiRequest) => `${body["customer"].phone}`;

/** Returns the parts of a response that are others. */
type Edit = (response: ApiResponse & { body: Members }) => Partial<ApiResponse>;

function listEdits(change: ServiceChange): Edit[] {
  if ("responses" in change) return change.responses.map((parts) => () => parts);
  if ("bodies" in change)
    return change.bodies.map((toBody) => ({ body }) => ({ body: toBody(body) }));
  if ("addedHeaders" in change)
    return change.addedHeaders.map((added) => ({ headers }) => ({
      headers: { ...headers, ...added },
    }));
  if ("member" in change)
    return change.values.map((value) => ({ body }) => ({
      body: { ...body, [change.member]: value },
    }));
  if ("itemMember" in change)
    return change.values.map((value) => ({ body: { items } }) => ({
      body: { items: items.map((item: object) => ({ ...item, [change.itemMember]: value })) },
    }));
  return [() => ({})];
}

function readCustomer({ customer }: Having<"customer">): Respond {
  return (request, process) => {
    const body = { ...request.body, customer: customer(request.body["customer"]) };
    return process({ ...request, body });
  };
}

function readKey(toKey: (key: string, request: ApiRequest) => string): Respond {
  return (request, process) => {
    const key = toKey(getKey(request), request);
    return process({ ...request, headers: { ...request.headers, "idempotency-key": key } });
  };
}

function refuse({ refuses }: Having<"refuses">, response: ApiResponse): Respond {
  return async (request, process) => (refuses(request) ? response : process(request));
}

function editResponses({ ofStatus }: ServiceChange, edit: Edit): Respond {
  return async (request, process) => {
    const response = await process(request);
    if (!isMeant(response.status, ofStatus)) return response;
    const body = (response.body ?? {}) as Members;
    return { ...response, ...edit({ ...response, body }) };
  };
}

function isMeant(status: number, ofStatus: ServiceChange["ofStatus"]): boolean {
  if (ofStatus === undefined) return status < 300;
  if (ofStatus === "errors") return status >= 300;
  return status === ofStatus;
}

function respondFirst(first: ApiResponse): Respond {
  const known = new Set<string>();
  return async (request, process) => {
    const call = `${request.method} ${request.path} ${getKey(request)}`;
    if (known.has(call)) return process(request);
    known.add(call);
    return first;
  };
}

function replay(change: Having<"sameBy">, parts: Partial<ApiResponse>): Respond {
  const { sameBy, firstStatus } = change;
  const getName = sameBy === "key" ? getKey : getPhone;
  const firstResponses = new Map<string, ApiResponse>();
  return async (request, process) => {
    const name = getName(request);
    const first = firstResponses.get(name);
    if (first?.status === firstStatus) return { ...first, ...parts };
    const response = await process(request);
    if (!firstResponses.has(name)) firstResponses.set(name, response);
    return response;
  };
}

function lose({ meanwhile }: Having<"lost">, lost: ApiResponse): Respond {
  const counts = new Map<string, number>();
  return async (request, process) => {
    const earlier = counts.get(getKey(request)) ?? 0;
    counts.set(getKey(request), earlier + 1);
    if (earlier === 0) {
      await process(request);
      return lost;
    }
    const isWorking = meanwhile !== undefined && earlier < 4;
    return isWorking ? meanwhile : process(request);
  };
}

function rejectAnotherKey({ anotherKey }: Having<"anotherKey">): Respond {
  const keys = new Map<string, string>();
  return async (request, process) => {
    const phone = getPhone(request);
    const known = keys.get(phone);
    if (known !== undefined && known !== getKey(request)) return anotherKey;
    const response = await process(request);
    if (response.status === 201) keys.set(phone, getKey(request));
    return response;
  };
}

function collide({ times }: Having<"atOnce">, response: ApiResponse): Respond {
  const second = createGate();
  let requests = 0;
  return async (request, process) => {
    if (request.body["customer"].name !== twinName) return process(request);
    requests += 1;
    if (requests === 1) {
      await second.opened;
      return process(request);
    }
    second.open();
    const earlier = requests - 2;
    return earlier < times ? response : process(request);
  };
}

const fields = [{ key: "name", type: "name" } as const, { key: "points", type: "number" } as const];

interface State {
  cards: Map<string, unknown>;
  customers: Map<string, { cardIds: string[] }>;
}

/** Opens a mock service with the templates `tpl_club` and `tpl_archived` behind the difference. */
export function openService(respond: Respond) {
  const templates = ["tpl_club", "tpl_archived"].map((id) => ({ id, name: "Club", fields }));
  const service = createMockService({ templates, log: () => {} }); // logs a key with another body
  service.templates.archive("tpl_archived");
  const { baseUrl, apiKeys, cards } = service;
  /** The body of the last response. */
  const last: { body: unknown } = { body: undefined };

  async function process({ method, path, headers, body }: ApiRequest): Promise<ApiResponse> {
    const init = { method, headers, body: method === "GET" ? null : JSON.stringify(body) };
    const response = await service.fetch(new Request(baseUrl + path, init));
    const text = await response.text();
    const own = { status: response.status, headers: Object.fromEntries(response.headers) };
    return text === "" ? own : { ...own, body: JSON.parse(text) };
  }

  async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const request = await parseRequest(new Request(input, init), baseUrl);
    const { status, headers, body, text } = await respond(request, process);
    const json = text ?? JSON.stringify(body);
    last.body = text ?? (json && JSON.parse(json));
    return new Response(json ?? null, { status, headers });
  }

  const readState = () => service.snapshot().state as State;
  return { baseUrl, apiKeys, cards, fetch, last, readState };
}

async function parseRequest(request: Request, baseUrl: string): Promise<ApiRequest> {
  const { method } = request;
  const path = request.url.slice(baseUrl.length);
  const text = await request.text();
  return {
    operation: findOperation(method, path),
    method,
    path,
    headers: Object.fromEntries(request.headers),
    body: text === "" ? {} : JSON.parse(text),
  };
}

function findOperation(method: string, path: string): ApiRequest["operation"] {
  const found = Object.entries(operations).find(([, operation]) => {
    const pattern = operation.path.replace(/\{\w+\}/, "[^/]+");
    return method === operation.method && new RegExp(`^/api/v1${pattern}(\\?|$)`).test(path);
  });
  if (found === undefined) throw new Error(`The API has no ${method} ${path}.`);
  return found[0] as ApiRequest["operation"];
}
