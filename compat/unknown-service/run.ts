/** One run: the shop on a service with some cases, then a comparison of its data with the state of the service. */
import { EventEmitter } from "node:events";
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect, isDeepStrictEqual } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { createDraw, type Draw } from "@loyalty-cards/internal/test/draw";
import { operations } from "@loyalty-cards/openapi/operations";
import {
  createMockService,
  type Deliver,
  type MockService,
  manualClock,
  type TemplateInput,
} from "../../packages/mock-server/src/index.ts";
import {
  type ApiResponse,
  type Case,
  type Changes,
  type Ends,
  eventTypes,
  type Members,
  type Operation,
  type Respond,
  type Run,
  type SentEvent,
  steps,
} from "./case.ts";
import { cardCases } from "./cases/cards.ts";
import { errorCases } from "./cases/errors.ts";
import { historyCases } from "./cases/history.ts";
import { issuingCases } from "./cases/issuing.ts";
import { webhookCases } from "./cases/webhooks.ts";
import { allOperations } from "./changes.ts";
import { type Captured, compare, deliverAll, type Sent } from "./deliveries.ts";
import { concurrentRuns, type OpenReceivers, type Receiver } from "./receivers.ts";
import { createShop, findLeaks } from "./shop.ts";

export const cases = Object.entries({
  ...cardCases,
  ...issuingCases,
  ...historyCases,
  ...errorCases,
  ...webhookCases,
}).flatMap(([assumption, byName]) =>
  Object.entries(byName).map(([name, each]) => ({ ...each, assumption, name: `${assumption}: ${name}` })),
);
type NamedCase = (typeof cases)[number];

/** A service with one case or several, and the seed of its run. */
interface UnknownService {
  name: string;
  group: readonly NamedCase[];
  seed: number;
}

const { UNKNOWN_SERVICE_SEED, UNKNOWN_SERVICE_ONLY = "" } = process.env;
/** The seed of the environment, or a new one. */
export const seed = Number(UNKNOWN_SERVICE_SEED ?? Math.floor(Math.random() * 2 ** 32));

/** A sample of the services with one case and of `combinations` services with two to four. */
export function chooseServices(combinations: number, size: number): UnknownService[] {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new TypeError(
      `UNKNOWN_SERVICE_SEED must be a whole number, 0 or more, not ${UNKNOWN_SERVICE_SEED}.`,
    );
  const draw = createDraw(seed);
  const groups = [
    ...cases.map((each) => [each]),
    ...Array.from({ length: combinations }, () => draw.shuffled(cases).slice(0, 2 + draw.below(3))),
  ];
  const services = groups
    .map((group, index) => ({ group, name: group.map(({ name }) => name).join(" + "), seed: seed + index }))
    .filter(({ name }) => name.includes(UNKNOWN_SERVICE_ONLY));
  return createDraw(seed).shuffled(services).slice(0, size);
}

/** @returns for each service that broke a guarantee, its name and what happened. */
export async function runAll(services: readonly UnknownService[], open: OpenReceivers): Promise<string[]> {
  const waiting = [...services];
  const found: string[] = [];
  const worker = async () => {
    for (let service = waiting.shift(); service !== undefined; service = waiting.shift()) {
      const violations = new Set(await run(service, open));
      if (violations.size > 0) found.push([service.name, ...violations].join("\n    "));
    }
  };
  await Promise.all(Array.from({ length: concurrentRuns }, worker));
  return found;
}

async function run({ group, seed }: UnknownService, open: OpenReceivers): Promise<string[]> {
  const violations: string[] = [];
  const draw = createDraw(seed);
  const secrets: string[] = []; // the newest first
  const captured: Captured[] = [];
  const service = createService(draw, async (request) => {
    const event = JSON.parse(await request.text()) as SentEvent;
    captured.push({ event, headers: [...request.headers], secret: secrets[0] ?? "" });
    return new Response(null, { status: 204 });
  });
  const endpoint = service.webhooks.createEndpoint({ url: "https://shop.test/webhooks", events: eventTypes });
  const changes = combine(group, draw, service);
  secrets.unshift(endpoint.secret);
  const log: string[] = [];
  const receivers = await open({
    secret: () => secrets,
    log: (line) => log.push(line),
    ...Object.assign({}, ...group.map(({ toleranceSeconds }) => toleranceSeconds && { toleranceSeconds })),
  });
  const server = createServer(
    getRequestListener(respond(service, changes, receivers), { overrideGlobalObjects: false }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const onCrash = (error: unknown) => violations.push(`crash: ${inspect(error)}`);
  process.on("unhandledRejection", onCrash);
  process.on("uncaughtException", onCrash);
  const agent = new Agent({ keepAlive: true });

  try {
    const shop = createShop({ service, changes, draw, violations, baseUrl: url });
    await shop.signUp();
    await shop.useCards();
    await service.idle();
    secrets.unshift(service.webhooks.newSecret(endpoint.id).secret);
    await shop.collectPoints();
    service.webhooks.sendTest(endpoint.id);
    await shop.comeBack();
    await service.idle();

    const sent = await deliverAll({ url, agent, draw, changes, captured, receivers, secrets });
    for (const receiver of receivers) {
      const found = await compare(receiver, sent, shop.getCards());
      violations.push(...found.map((sentence) => `${receiver.name}: ${sentence}`));
    }
    violations.push(...findLeaks(log, [...shop.personalData, ...secrets, service.apiKeys.website]));
    // With several cases only the guarantees are checked, because no case expects the effects of another one.
    const [expected, ...others] = group;
    if (expected !== undefined && others.length === 0)
      violations.push(...findUnexpected(expected, shop.ends, receivers, sent));
    return violations;
  } finally {
    await Promise.all(receivers.map((receiver) => receiver.close()));
    agent.destroy();
    server.close();
    server.closeAllConnections();
    await new Promise(setImmediate); // for rejections that nothing handles
    process.off("unhandledRejection", onCrash);
    process.off("uncaughtException", onCrash);
  }
}

const template: TemplateInput = {
  name: "Club",
  fields: [
    { key: "name", type: "name" },
    { key: "points", type: "number" },
  ],
  tiers: [
    { name: "Silver", from: 100 },
    { name: "Gold", from: 10_000 },
  ],
};

function createService(draw: Draw, deliver: Deliver): MockService {
  const service = createMockService({
    clock: manualClock(Date.UTC(2026, 0, 1) + draw.below(1e9)),
    deliver,
    log: () => {}, // a case may repeat a key with another body
    templates: ["tpl_club", "tpl_archived"].map((id) => ({ ...template, id })),
  });
  service.templates.archive("tpl_archived");
  return service;
}

/** Applies the changes of the first case first; only to requests the last one's first. */
function combine(group: readonly Case[], draw: Draw, service: MockService): Changes {
  const bound = group.map((each) => {
    const counts = new Map<string, number>();
    const count = (name: string) => {
      const before = counts.get(name) ?? 0;
      counts.set(name, before + 1);
      return before;
    };
    const run: Run = { draw, service, count, responses: new Map(), signals: new EventEmitter() };
    return { each, run };
  });
  return {
    card: (card) => bound.reduce((changed, { each }) => each.card?.(changed) ?? changed, card),
    api: (request, next) =>
      bound.reduce<Respond>(
        (inner, { each, run }) =>
          (outer) =>
            each.api?.(outer, inner, run) ?? inner(outer),
        next,
      )(request),
    event: (event) =>
      bound.reduce((sent, { each, run }) => sent.flatMap((one) => each.event?.(one, run) ?? [one]), [event]),
    body: (body) => bound.reduce((changed, { each }) => each.body?.(changed) ?? changed, body),
    headers: (headers, attempt) =>
      bound.reduce((changed, { each }) => each.headers?.(changed, attempt) ?? changed, headers),
  };
}

/** The HTTP side: the changed API, and the receivers of the shop. */
function respond(service: MockService, changes: Changes, receivers: readonly Receiver[]) {
  const inner: Respond = async ({ operation, method, path, headers, body }) => {
    const request = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    const response = await service.fetch(new Request(service.baseUrl + path, request));
    const text = await response.text();
    const parsed: unknown = text === "" ? undefined : JSON.parse(text);
    const isCard = response.status < 300 && (operation === "issueCard" || operation === "getCard");
    return {
      status: response.status,
      headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
      body: isCard ? changes.card(parsed as Members) : parsed,
    };
  };
  return async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const receiver = receivers[Number(/^\/webhooks\/(\d+)$/.exec(pathname)?.[1])];
    if (receiver !== undefined) return await receiver.receive(request);
    const { method } = request;
    const received = await request.text();
    const { status, headers, body, text }: ApiResponse = await changes.api(
      {
        operation: getOperation(method, pathname),
        method,
        path: pathname + search,
        headers: new Headers(request.headers),
        body: received === "" ? undefined : JSON.parse(received),
      },
      inner,
    );
    const sent = text ?? (body === undefined ? null : JSON.stringify(body));
    return new Response(status === 204 ? null : sent, { status, headers });
  };
}

function getOperation(method: string, pathname: string): Operation | undefined {
  return allOperations.find((id) => {
    const { method: own, path } = operations[id];
    return method === own && new RegExp(`^/api/v1${path.replace(/\{\w+\}/, "[^/]+")}$`).test(pathname);
  });
}

/** Finds ends, statuses and handlers that the case does not expect. */
function findUnexpected(
  { ends, refused = 204, unexpectedData = [], otherTypes = [] }: Case,
  actual: Ends,
  receivers: readonly Receiver[],
  sent: readonly Sent[],
): string[] {
  const found: string[] = [];
  const expected: Ends = { ...steps, ...ends };
  for (const [step, end] of Object.entries(actual)) {
    const other = expected[step as keyof Ends];
    if (end !== other) found.push(`${step} ends in ${end} instead of ${other}`);
  }
  for (const [route, types] of Object.entries({ unexpectedData, otherTypes })) {
    for (const { name, stored: data } of receivers) {
      const got = data[route as "otherTypes"];
      if (!isDeepStrictEqual(got, new Set(types)))
        found.push(`${name}: ${route} got ${[...got]} instead of ${types}`);
    }
  }
  for (const { event, statuses } of sent) {
    for (const [{ name }, status] of statuses)
      if (status !== refused) found.push(`${name}: ${status} for ${event.type} instead of ${refused}`);
  }
  return found;
}
