/** One run: a whole story of a shop on a mutated service, then what the program believes beside what is true. */
import { randomUUID } from "node:crypto";
import { Agent, createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect, isDeepStrictEqual } from "node:util";
import { getRequestListener } from "@hono/node-server";
import {
  type Card,
  cardLinks,
  createIssuingClient,
  type Operation as HistoryEntry,
  type IssueCardRequest,
  isIssuingError,
} from "../../packages/issuing-client/src/index.ts";
import { createMockService, type MockService, manualClock } from "../../packages/mock-server/src/index.ts";
import { signWebhookSync } from "../../packages/webhook-verify/src/index.ts";
import { type Consumer, type Engines, runsAtOnce } from "./consumers.ts";
import {
  type ApiRequest,
  combined,
  createDraw,
  type Draw,
  type Hooks,
  type Members,
  type Mutation,
  type Operation,
  type Respond,
  type SentDelivery,
  type SentEvent,
  type Signing,
  type Step,
  signUps,
  steps,
  stored,
  togetherName,
} from "./mutation.ts";

interface RunResult {
  /** How each call of the story ended; a call that needs a card which the program never got is absent. */
  ends: Partial<Record<Step, string>>;
  /** One sentence for each promise that did not hold; none when all did. */
  violations: string[];
}

interface RunOptions {
  seed: number;
  engines: Engines;
  /** Whether the ends of the calls and the statuses of the receivers must be those that the mutations declare. */
  isExact: boolean;
}

/** The seed that is given, or that of the environment, or a new one. @throws {TypeError} for what is no seed. */
export function readSeed(given = process.env["UNKNOWN_SERVICE_SEED"]): number {
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new TypeError(`The seed must be a whole number, 0 or more, not "${given}".`);
}

/** A service with these mutations, and a seed for everything random in its run. */
export interface MutatedService {
  name: string;
  group: readonly Mutation[];
  seed: number;
}

/** Each mutation in a service of its own, and then so many services with two to four mutations at once. */
export function mutatedServices(
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

/** @returns the services that broke a promise, with a sentence for each. */
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
  await Promise.all(Array.from({ length: runsAtOnce }, worker));
  return found;
}

/** Of several mutations at once it is not declared how the calls end: only the promises are checked. */
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
    log: () => {}, // a mutation may repeat a key with other content
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

  const hooks = combined(mutations.map((mutation): Hooks => mutation.start({ draw, service })));
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
    const story = storyOf({ service, hooks, draw, violations, baseUrl: `http://127.0.0.1:${port}` });
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
    violations.push(...leaks(log, [...story.personalData, ...secrets, service.apiKeys.website]));
    if (options.isExact) violations.push(...undeclared(mutations, story.ends, consumers, sent));
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
        operation: operationOf(request.method, pathname),
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

function operationOf(method: string, pathname: string): Operation | undefined {
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

interface StoryOptions {
  service: MockService;
  hooks: Required<Hooks>;
  draw: Draw;
  violations: string[];
  baseUrl: string;
}

/** The program of a shop: every call of the client, and after each what it brought beside what is true. */
function storyOf({ service, hooks, draw, violations, baseUrl }: StoryOptions) {
  const ends: Partial<Record<Step, string>> = {};
  const clientWith = (apiKey: string, more = {}) =>
    createIssuingClient({ baseUrl, apiKey, random: () => 0, ...more });
  const client = clientWith(service.apiKeys.website);
  const phone = () => `+4860${1_000_000 + draw.below(8_999_999)}`;
  const anna = { phone: phone(), name: draw.pick(["Anna Nowak", "Łucja Żółć", "О. Іваненко", "寿 山田"]) };
  const bo = { email: `${draw.text(9)}@example.com`, name: `Bo ${draw.text(8)}` };
  const customerOf = (contact: object): IssueCardRequest["customer"] => ({
    ...contact,
    consents: { privacy: { version: "2026-01" } },
  });
  const requestOf = (contact: object): IssueCardRequest => ({
    customer: customerOf(contact),
    fieldValues: "name" in contact ? { name: String(contact.name) } : {},
  });
  const personalData = [anna.phone, anna.name, bo.email, bo.name];
  const history: HistoryEntry[] = [];
  /** How many cards the mock service has issued for each of the shop's users. */
  const cardsOfUser = new Map<string, number>();
  let card: Card | undefined;

  async function end<Value>(step: Step, call: () => Promise<Value> | Value): Promise<Value | undefined> {
    try {
      const value = await call();
      ends[step] = value === undefined ? "undefined" : "value";
      return value;
    } catch (error) {
      ends[step] = isIssuingError(error) ? error.code : "crash";
      if (!isIssuingError(error)) violations.push(`${step} threw ${inspect(error)}`);
      if (isIssuingError(error) && error.cardId !== undefined && !storedCards().has(error.cardId))
        violations.push(`${step} names a card that there is not: ${error.cardId}`);
      const text = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`;
      violations.push(...leaks([text], [...personalData, service.apiKeys.website]));
      return undefined;
    }
  }

  const storedCards = () => stored(service).cards;
  const truths = () => [...storedCards().keys()].map((id) => hooks.card({ ...service.cards.get(id) }));

  /** Issues a card for a user of the shop, and counts what the service made of it. */
  async function issue(
    step: Step,
    userId: string,
    contact: object,
    { by = client, request = requestOf(contact), namespace = "", more = {} } = {},
  ): Promise<Card | undefined> {
    const before = storedCards().size;
    const issued = await end(step, () => by.issueCard("tpl_club", request, { userId, ...more }));
    const user = namespace + userId;
    cardsOfUser.set(user, (cardsOfUser.get(user) ?? 0) + storedCards().size - before);
    if (issued !== undefined) compareCard(step, issued);
    return issued;
  }

  /** A card of a sign-up may be as it was when it was issued: the service may replay the first response. */
  function compareCard(step: Step, told: Card): void {
    const truth = truths().find(({ id }) => id === told.id);
    if (truth === undefined)
      return void violations.push(`${step} gives a card that there is not: ${told.id}`);
    const isReplay = signUps.includes(step);
    const members: Members = { ...told };
    for (const [member, value] of Object.entries(truth)) {
      const given = members[member];
      const isAsIssued =
        isReplay && ["loyaltyBalance", "loyaltyTier", "fieldValues", "status"].includes(member);
      if (given === undefined || isAsIssued || isDeepStrictEqual(given, value)) continue;
      violations.push(`${step} gives ${member} = ${inspect(given)}, and the service has ${inspect(value)}`);
    }
  }

  function compareHistory(step: Step, told: readonly HistoryEntry[]): void {
    let place = -1;
    for (const operation of told) {
      const entry: Members = { ...operation };
      const found = history.findIndex(({ id }) => id === entry["id"]);
      const wrong = Object.entries(history[found] ?? {}).filter(
        ([member, value]) => entry[member] !== undefined && !isDeepStrictEqual(entry[member], value),
      );
      if (found <= place) violations.push(`${step} gives an operation at a wrong place: ${entry["id"]}`);
      for (const [member] of wrong) violations.push(`${step} gives ${member} = ${inspect(entry[member])}`);
      place = found;
    }
  }

  function compareConsent(
    step: Step,
    told: { marketingConsent: unknown } | undefined,
    customerId: string,
  ): void {
    if (told === undefined) return;
    const isGiven = stored(service).customers.get(customerId)?.marketing.isGiven;
    if (told.marketingConsent === isGiven) return;
    violations.push(
      `${step} gives marketingConsent = ${inspect(told.marketingConsent)}, and it is ${isGiven}`,
    );
  }

  return {
    ends,
    personalData,

    async signUp(): Promise<void> {
      const user = randomUUID();
      card = await issue("signUp", user, anna);
      const again = await issue("signUpAgain", user, anna);
      if (card && again && card.id !== again.id) violations.push("signUpAgain gives another card");

      // The form was sent twice, to two processes.
      const twice = randomUUID();
      const contact = { phone: phone(), name: togetherName };
      const before = storedCards().size;
      const both = await Promise.all(
        (["signUpAtOnce", "signUpAtOnceToo"] as const).map((step) =>
          end(step, () =>
            clientWith(service.apiKeys.website).issueCard("tpl_club", requestOf(contact), { userId: twice }),
          ),
        ),
      );
      cardsOfUser.set(twice, storedCards().size - before);
      // Which of the two came second is chance; the one that ended otherwise is called the second.
      if (ends.signUpAtOnce !== "value")
        [ends.signUpAtOnce, ends.signUpAtOnceToo] = [ends.signUpAtOnceToo ?? "", ends.signUpAtOnce ?? ""];
      if (new Set(both.flatMap((each) => each?.id ?? [])).size > 1)
        violations.push("two sign-ups at once give two cards");

      const marketing = { consents: { privacy: { version: "2026-01" }, marketing: {} } };
      await issue("signUpByEmail", randomUUID(), bo, {
        request: { customer: { ...bo, phone: "", ...marketing } },
      });
      const careless = randomUUID();
      await issue("signUpInvalid", careless, { phone: "12" });
      await issue("signUpCorrected", careless, { phone: "601 234 567" });
      // A salt is for a refusal that the service stored; after an error that leaves open whether there is a card it would be a second one.
      if (ends.signUpInvalid === "validation" && ends.signUpCorrected === "validation")
        await issue("signUpSalted", careless, { phone: "601 234 567" }, { more: { salt: "corrected" } });
      // Another website on the same service, whose users have the same ids.
      const staging = clientWith(service.apiKeys.website, { idempotencyNamespace: "staging" });
      const contactThere = { phone: phone() };
      const cardThere = await issue("signUpAtOtherWebsite", user, contactThere, {
        by: staging,
        namespace: "staging",
      });
      if (cardThere !== undefined && cardThere.id === card?.id)
        violations.push("signUpAtOtherWebsite gives the card of another person");
      await end("archivedTemplate", () =>
        client.issueCard("tpl_archived", requestOf({ phone: phone() }), { userId: randomUUID() }),
      );
      await end("wrongKey", () =>
        clientWith("wrong-key").issueCard("tpl_club", requestOf({ phone: phone() }), {
          userId: randomUUID(),
        }),
      );
      await end("unknownCard", () => client.getCard("card_of_nobody"));
    },

    async useCards(): Promise<void> {
      const own = ownCard();
      if (own === undefined) return;
      service.cards.addToWallet(own.id, "apple");
      await tick();
      service.cards.removeFromWallet(own.id, "apple");
      await tick();
      service.cards.addToWallet(own.id, "google");
      if (card === undefined) return;
      const { id } = card;
      const { customerId } = own;
      const links = await end("links", () => cardLinks(card as Card));
      if (links !== undefined && links.page !== card.publicUrl)
        violations.push(`links gives ${links.page} for ${card.publicUrl}`);
      compareConsent("getConsent", await end("getConsent", () => client.getConsent(id)), customerId);
      await tick();
      const given = await end("giveConsent", () =>
        client.setConsent(id, { marketing: true, version: "2026-02" }),
      );
      compareConsent("giveConsent", given, customerId);
      compareConsent(
        "getGivenConsent",
        await end("getGivenConsent", () => client.getConsent(id)),
        customerId,
      );
      await tick();
      const withdrawn = await end("withdrawConsent", () => client.setConsent(id, { marketing: false }));
      compareConsent("withdrawConsent", withdrawn, customerId);
    },

    /** What happens at the till, after the shop replaced its signing secret. */
    async collectPoints(): Promise<void> {
      const own = ownCard();
      if (own === undefined) return;
      const { cards } = service;
      const reward = { points: 5.25 };
      const entries = [
        () => cards.purchase(own.id, { points: 120 + draw.below(80) }),
        () => cards.reward(own.id, reward),
        () => cards.redeem(own.id, { points: 10 }),
        () => cards.correct(own.id, { change: -1 }),
        () => cards.cancel(history.find(({ type }) => type === "reward")?.id ?? ""),
      ];
      for (const entry of entries) {
        await tick();
        history.unshift(entry());
      }
    },

    async comeBack(): Promise<void> {
      const own = ownCard();
      if (card === undefined || own === undefined) return void countCards();
      const { id } = card;
      const told = await end("getCard", () => client.getCard(id));
      if (told !== undefined) compareCard("getCard", told);
      const all = await end("listOperations", () => client.listOperations(id));
      if (all !== undefined) compareHistory("listOperations", all);
      const two = await end("listTwoOperations", () => client.listOperations(id, { limit: 2 }));
      if (two !== undefined) compareHistory("listTwoOperations", two);
      await issue("signUpLater", lastUser(), anna);
      await issue("signUpUnderAnotherKey", randomUUID(), anna);
      countCards();
    },
  };

  /** The card of the first sign-up, as the mock service has it, whatever the program was told. */
  function ownCard(): ReturnType<MockService["cards"]["get"]> | undefined {
    const [id] = storedCards().keys();
    return id === undefined ? undefined : service.cards.get(id);
  }

  function lastUser(): string {
    return [...cardsOfUser.keys()][0] ?? "";
  }

  function countCards(): void {
    for (const count of cardsOfUser.values()) if (count > 1) violations.push(`a user has ${count} cards`);
  }

  /** Each event has a moment of its own. */
  function tick(): Promise<unknown> {
    return service.clock.advance(1_000);
  }
}

/** An event as the mock service made it. */
interface Captured {
  event: SentEvent;
  headers: [string, string][];
  isBeforeNewSecret: boolean;
}

/** An event as it was sent, with the last status of each receiver. */
interface Sent {
  event: SentEvent;
  statuses: Map<Consumer, number>;
}

interface Delivering {
  port: number;
  agent: Agent;
  draw: Draw;
  hooks: Required<Hooks>;
  captured: readonly Captured[];
  consumers: readonly Consumer[];
  secrets: readonly string[];
}

/** How many deliveries are under way to one receiver, so that they overtake each other. */
const atOnce = 16;

/** Every delivery at least twice, in any order, and again while a receiver does not respond 2xx. */
async function deliverAll(delivering: Delivering): Promise<Sent[]> {
  const { port, agent, draw, hooks, captured, consumers, secrets } = delivering;
  const [newSecret = "", oldSecret = ""] = secrets;
  const sent: Sent[] = [];
  const attempts: { of: Sent; headers: [string, string][]; secret: string; otherSecret: string }[] = [];
  for (const { event, headers, isBeforeNewSecret } of captured) {
    const secret = isBeforeNewSecret ? oldSecret : newSecret;
    const otherSecret = isBeforeNewSecret ? newSecret : oldSecret;
    for (const each of hooks.event(event)) {
      const of: Sent = { event: each, statuses: new Map() };
      sent.push(of);
      for (let copies = 2 + draw.below(2); copies > 0; copies--)
        attempts.push({ of, headers, secret, otherSecret });
    }
  }
  const ways = consumers.map(async (consumer, index) => {
    const counts = new Map<Sent, number>();
    let waiting = draw.shuffled(attempts);
    for (let round = 0; waiting.length > 0 && round < 5; round++) {
      const again: typeof waiting = [];
      const queue = [...waiting];
      const deliver = async () => {
        for (let each = queue.shift(); each !== undefined; each = queue.shift()) {
          const { of, headers, secret, otherSecret } = each;
          const attempt = counts.get(of) ?? 0;
          counts.set(of, attempt + 1);
          const nowSeconds = Math.floor(Date.now() / 1000);
          const signing: Signing = { secret, otherSecret, nowSeconds, attempt, sign };
          const delivery = hooks.delivery(signed(of.event, headers, signing), signing);
          const status = await post(`http://127.0.0.1:${port}/webhooks/${index}`, agent, delivery);
          const known = of.statuses.get(consumer);
          if (known === undefined || status < known) of.statuses.set(consumer, status);
          if (status === 503) again.push(each);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, deliver));
      waiting = again;
    }
  });
  await Promise.all(ways);
  return sent;
}

const sign = (rawBody: string, secret: string, timestamp: number) =>
  signWebhookSync({ rawBody, secret, timestamp });

function signed(event: SentEvent, headers: [string, string][], signing: Signing): SentDelivery {
  const body = JSON.stringify(event);
  const { secret, nowSeconds } = signing;
  return {
    body,
    headers: headers.map(([name, value]) => [
      name,
      name === "service-signature" ? sign(body, secret, nowSeconds) : value,
    ]),
  };
}

/** By node:http, because fetch would write the headers its own way. */
function post(url: string, agent: Agent, { headers, body }: SentDelivery): Promise<number> {
  const bytes = Buffer.from(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", agent }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    request.once("error", reject);
    const lines = new Map<string, string[]>();
    for (const [name, value] of headers) lines.set(name, [...(lines.get(name) ?? []), value]);
    for (const [name, values] of lines) request.setHeader(name, values);
    request.setHeader("content-length", bytes.length);
    request.end(bytes);
  });
}

interface Comparison {
  consumer: Consumer;
  sent: readonly Sent[];
  service: MockService;
  hooks: Required<Hooks>;
}

/** What a consumer did and believes, beside what was sent and what is true. */
async function compare({ consumer, sent, service, hooks }: Comparison): Promise<string[]> {
  const { beliefs } = consumer;
  const found: string[] = [];
  const counts = new Map<string, number>();
  for (const id of beliefs.handled) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const [id, count] of counts) if (count > 1) found.push(`handled ${id} ${count} times`);
  const dead = await consumer.dead();
  if (dead.length > 0) found.push(`has dead letters: ${dead.join(", ")}`);
  for (const { event, statuses } of sent) {
    const status = statuses.get(consumer) ?? 0;
    const isAcknowledged = status >= 200 && status < 300;
    const isHandled = counts.has(String(event.id));
    if (isAcknowledged && !isHandled) found.push(`lost ${event.type} ${event.id}`);
    if (!isAcknowledged && isHandled) found.push(`handled ${event.id}, which it refused with ${status}`);
    if (status >= 500) found.push(`responded ${status} to ${event.type}`);
  }

  const isComplete =
    beliefs.unknown.length === 0 &&
    !beliefs.hasGaps &&
    sent.every(({ statuses }) => statuses.get(consumer) === 204);
  if (!isComplete) return found; // the program knows that it does not know
  for (const [passId, balance] of beliefs.balances) {
    const truth = cardWith(service, hooks, passId);
    if (truth !== undefined && balance !== truth["loyaltyBalance"])
      found.push(`believes in a balance of ${balance}; it is ${truth["loyaltyBalance"]}`);
  }
  const newest = newestData(sent);
  for (const [passId, tier] of beliefs.tiers) {
    const truth = newest.get(`tier.changed ${passId}`)?.["tier"];
    if (!isDeepStrictEqual(tier, truth))
      found.push(`believes in the tier ${inspect(tier)}; it is ${inspect(truth)}`);
  }
  for (const [customerId, consent] of beliefs.consents) {
    const truth = newest.get(`consent.changed ${customerId}`)?.["marketingConsent"];
    if (!isDeepStrictEqual(consent, truth)) found.push(`believes in the consent ${inspect(consent)}`);
  }
  return found;
}

function cardWith(service: MockService, hooks: Required<Hooks>, id: string): Members | undefined {
  return [...stored(service).cards.keys()]
    .map((each) => hooks.card({ ...service.cards.get(each) }))
    .find((card) => card["id"] === id);
}

/** What the newest event of each thing said: the mock service makes them in order. */
function newestData(sent: readonly Sent[]): Map<string, Members> {
  const newest = new Map<string, Members>();
  for (const { event } of sent) {
    const { type, data } = event;
    newest.set(`${type} ${data?.["passId"] ?? data?.["customerId"]}`, data);
  }
  return newest;
}

/** Personal data and secrets in text that programs log. */
function leaks(texts: readonly string[], words: readonly string[]): string[] {
  return texts.flatMap((text) =>
    words
      .filter((word) => text.includes(word))
      .map(() => `a secret or personal data in: ${text.slice(0, 300)}`),
  );
}

/** Where a run did not end as its mutations declare. */
function undeclared(
  mutations: readonly Mutation[],
  ends: RunResult["ends"],
  consumers: readonly Consumer[],
  sent: readonly Sent[],
): string[] {
  const found: string[] = [];
  const declared: Record<string, string> = Object.assign({}, steps, ...mutations.map(({ ends }) => ends));
  for (const [step, end] of Object.entries(ends)) {
    if (declared[step] !== end) found.push(`${step} ends in ${end} instead of ${declared[step]}`);
  }
  const refused: Record<string, number> = Object.assign({}, ...mutations.map((each) => each.refused));
  const unknown = mutations.flatMap((mutation) => mutation.unknown ?? []).sort();
  for (const { name, beliefs } of consumers) {
    const types = [...new Set(beliefs.unknown)].sort();
    if (!isDeepStrictEqual(types, unknown)) found.push(`${name}: unknown got ${types} instead of ${unknown}`);
  }
  for (const { event, statuses } of sent) {
    const expected = refused[String(event.type)] ?? refused["*"] ?? 204;
    for (const [{ name }, status] of statuses) {
      if (status !== expected) found.push(`${name}: ${status} for ${event.type} instead of ${expected}`);
    }
  }
  return found;
}
