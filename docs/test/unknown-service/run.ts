/** One run: the story of a shop on a mutated service, then a comparison of its data with the state of the service. */
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { createMockService, type MockService, manualClock } from "../../../packages/mock-server/src/index.ts";
import { type Consumer, concurrentRuns, type Engines } from "./consumers.ts";
import { type Captured, compare, deliverAll, findLeaks, findUndeclared } from "./deliveries.ts";
import { combineHooks } from "./hooks.ts";
import {
  type ApiRequest,
  createDraw,
  type Hooks,
  type Members,
  type Mutation,
  type Operation,
  type Respond,
  type SentEvent,
  type Step,
} from "./mutation.ts";
import { createStory } from "./story.ts";

export interface RunResult {
  /** How each call of the story ended. A call that needs a card is missing when the program has none. */
  ends: Partial<Record<Step, string>>;
  /** One sentence for each guarantee that did not hold. */
  violations: string[];
}

interface RunOptions {
  seed: number;
  engines: Engines;
  /** Whether calls and receivers must end exactly as the mutations declare. */
  isExact: boolean;
}

/** The given seed, the one of the environment, or a new one. @throws {TypeError} when it is invalid. */
export function readSeed(given = process.env["UNKNOWN_SERVICE_SEED"]): number {
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new TypeError(`The seed must be a whole number, 0 or more, not "${given}".`);
}

/** A service with these mutations, and the seed of its run. */
export interface MutatedService {
  name: string;
  group: readonly Mutation[];
  seed: number;
}

/** One service for each mutation, and `combinations` services with two to four mutations. */
export function createServices(
  mutations: readonly Mutation[],
  { seed, combinations }: { seed: number; combinations: number },
): MutatedService[] {
  const draw = createDraw(seed);
  const groups = [
    ...mutations.map((mutation) => [mutation]),
    ...Array.from({ length: combinations }, () => draw.shuffled(mutations).slice(0, 2 + draw.below(3))),
  ];
  return groups.map((group, index) => ({
    group,
    name: group.map(({ row, name }) => `${row}: ${name}`).join(" + "),
    seed: seed + index,
  }));
}

/** @returns for each service that broke a guarantee, its name and what happened. */
export async function runAll(services: readonly MutatedService[], engines: Engines): Promise<string[]> {
  const waiting = [...services];
  const found: string[] = [];
  const worker = async () => {
    for (let service = waiting.shift(); service !== undefined; service = waiting.shift()) {
      const { group, name, seed } = service;
      const { violations } = await run(group, { seed, engines, isExact: group.length === 1 });
      if (violations.length > 0) found.push([name, ...new Set(violations)].join("\n    "));
    }
  };
  await Promise.all(Array.from({ length: concurrentRuns }, worker));
  return found;
}

/** With several mutations only the guarantees are checked, because the ends of the calls are not declared. */
async function run(mutations: readonly Mutation[], options: RunOptions): Promise<RunResult> {
  const violations: string[] = [];
  const draw = createDraw(options.seed);
  const captured: Captured[] = [];
  const service: MockService = createMockService({
    clock: manualClock(Date.UTC(2026, 0, 1) + draw.below(1e9)),
    deliver: async (request) => {
      const event = JSON.parse(await request.text()) as SentEvent;
      captured.push({ event, headers: [...request.headers], isBeforeNewSecret: false });
      return new Response(null, { status: 204 });
    },
    log: () => {}, // a mutation may repeat a key with another body
    templates: [
      {
        id: "tpl_club",
        name: "Club",
        fields: [
          { key: "name", type: "name" },
          { key: "points", type: "number" },
        ],
        tiers: [
          { name: "Silver", from: 100 },
          { name: "Gold", from: 10_000 },
        ],
      },
      { id: "tpl_archived", name: "Archived" },
    ],
  });
  service.templates.archive("tpl_archived");
  const endpoint = service.webhooks.createEndpoint({ url: "https://shop.test/webhooks", events: eventTypes });

  const hooks = combineHooks(mutations.map((mutation): Hooks => mutation.start({ draw, service })));
  const secrets = [endpoint.secret];
  const log: string[] = [];
  const receiverOptions = Object.assign({}, ...mutations.map(({ receiver }) => receiver));
  const consumers = await options.engines.open({
    secret: () => secrets,
    log: (line) => log.push(line),
    ...receiverOptions,
  });
  const server = createServer(
    getRequestListener(respond(service, hooks, consumers), { overrideGlobalObjects: false }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const onCrash = (error: unknown) => violations.push(`crash: ${inspect(error)}`);
  process.on("unhandledRejection", onCrash);
  process.on("uncaughtException", onCrash);
  const agent = new Agent({ keepAlive: true });

  try {
    const story = createStory({ service, hooks, draw, violations, baseUrl: `http://127.0.0.1:${port}` });
    await story.signUp();
    await story.useCards();
    await service.idle();
    for (const delivery of captured) delivery.isBeforeNewSecret = true;
    secrets.unshift(service.webhooks.newSecret(endpoint.id).secret);
    await story.collectPoints();
    service.webhooks.sendTest(endpoint.id);
    await story.comeBack();
    await service.idle();

    const sent = await deliverAll({ port, agent, draw, hooks, captured, consumers, secrets });
    for (const consumer of consumers) await consumer.settled();
    for (const consumer of consumers) {
      const found = await compare({ consumer, sent, service, hooks });
      violations.push(...found.map((sentence) => `${consumer.name}: ${sentence}`));
    }
    violations.push(...findLeaks(log, [...story.personalData, ...secrets, service.apiKeys.website]));
    if (options.isExact) violations.push(...findUndeclared(mutations, story.ends, consumers, sent));
    return { ends: story.ends, violations };
  } finally {
    await Promise.all(consumers.map((consumer) => consumer.close()));
    agent.destroy();
    server.close();
    server.closeAllConnections();
    await new Promise(setImmediate); // for rejections that nothing handles
    process.off("unhandledRejection", onCrash);
    process.off("uncaughtException", onCrash);
  }
}

const eventTypes = [
  "card.added",
  "card.removed",
  "balance.changed",
  "tier.changed",
  "consent.changed",
  "ping",
] as const;

/** The HTTP side: the mutated API, and the receivers of the shop. */
function respond(service: MockService, hooks: Required<Hooks>, consumers: readonly Consumer[]) {
  const inner: Respond = async ({ operation, method, path, headers, body }) => {
    const response = await service.fetch(
      new Request(service.baseUrl + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    const text = await response.text();
    const parsed: unknown = text === "" ? undefined : JSON.parse(text);
    const isCard = response.status < 300 && (operation === "issueCard" || operation === "getCard");
    return {
      status: response.status,
      headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
      body: isCard ? hooks.card(parsed as Members) : parsed,
    };
  };
  return async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const consumer = consumers[Number(/^\/webhooks\/(\d+)$/.exec(pathname)?.[1])];
    if (consumer !== undefined) return await consumer.receive(request);
    const text = await request.text();
    const response = await hooks.api(
      {
        operation: getOperation(request.method, pathname),
        method: request.method,
        path: pathname + search,
        headers: new Headers(request.headers),
        body: text === "" ? undefined : JSON.parse(text),
      } satisfies ApiRequest,
      inner,
    );
    const { status, headers, body } = response;
    const sent = response.text ?? (body === undefined ? null : JSON.stringify(body));
    return new Response(status === 204 ? null : sent, { status, headers });
  };
}

function getOperation(method: string, pathname: string): Operation | undefined {
  const rest = /^\/api\/v1\/(templates|passes)\/[^/]+(?:\/(\w+))?$/.exec(pathname);
  const operations: Record<string, Operation> = {
    "POST templates/passes": "issueCard",
    "GET passes/": "getCard",
    "GET passes/operations": "listOperations",
    "GET passes/consent": "getConsent",
    "PUT passes/consent": "setConsent",
  };
  return rest === null ? undefined : operations[`${method} ${rest[1]}/${rest[2] ?? ""}`];
}
