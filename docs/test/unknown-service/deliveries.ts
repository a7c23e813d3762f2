/** Delivers the events of a run to every consumer, and compares what the consumers did with the state of the service. */

import { type Agent, request as httpRequest } from "node:http";
import { inspect, isDeepStrictEqual } from "node:util";
import type { MockService } from "../../../packages/mock-server/src/index.ts";
import { signWebhookSync } from "../../../packages/webhook-verify/src/index.ts";
import type { Consumer } from "./consumers.ts";
import {
  type Draw,
  type Hooks,
  type Members,
  type Mutation,
  type SentDelivery,
  type SentEvent,
  type Signing,
  steps,
  stored,
} from "./mutation.ts";
import type { RunResult } from "./run.ts";

/** An event of the mock service. */
export interface Captured {
  event: SentEvent;
  headers: [string, string][];
  isBeforeNewSecret: boolean;
}

/** An event as it was sent, with the last status of each receiver. */
export interface Sent {
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

/** Concurrent deliveries to one receiver, so that their order changes. */
const concurrentDeliveries = 16;

/** Sends every delivery at least twice, in random order, and again after a 503. */
export async function deliverAll(delivering: Delivering): Promise<Sent[]> {
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
          const delivery = hooks.delivery(signDelivery(of.event, headers, signing), signing);
          const status = await post(`http://127.0.0.1:${port}/webhooks/${index}`, agent, delivery);
          const known = of.statuses.get(consumer);
          if (known === undefined || status < known) of.statuses.set(consumer, status);
          if (status === 503) again.push(each);
        }
      };
      await Promise.all(Array.from({ length: concurrentDeliveries }, deliver));
      waiting = again;
    }
  });
  await Promise.all(ways);
  return sent;
}

const sign = (rawBody: string, secret: string, timestamp: number) =>
  signWebhookSync({ rawBody, secret, timestamp });

function signDelivery(event: SentEvent, headers: [string, string][], signing: Signing): SentDelivery {
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

/** Uses node:http, because fetch changes headers. */
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

/** Compares what a consumer processed and stored with what was sent and with the service's state. */
export async function compare({ consumer, sent, service, hooks }: Comparison): Promise<string[]> {
  const { stored: data } = consumer;
  const found: string[] = [];
  const counts = new Map<string, number>();
  for (const id of data.handled) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const [id, count] of counts) if (count > 1) found.push(`handled ${id} ${count} times`);
  const dead = await consumer.dead();
  if (dead.length > 0) found.push(`has dead letters: ${dead.join(", ")}`);
  for (const { event, statuses } of sent) {
    const status = statuses.get(consumer) ?? 0;
    const isAcknowledged = status >= 200 && status < 300;
    const isHandled = counts.has(String(event.id));
    if (isAcknowledged && !isHandled) found.push(`lost ${event.type} ${event.id}`);
    if (!isAcknowledged && isHandled) found.push(`handled ${event.id}, which it rejected with ${status}`);
    if (status >= 500) found.push(`responded ${status} to ${event.type}`);
  }

  const isComplete =
    data.unexpectedData.length === 0 &&
    !data.hasGaps &&
    sent.every(({ statuses }) => statuses.get(consumer) === 204);
  if (!isComplete) return found; // the program knows that its data is incomplete
  for (const [passId, balance] of data.balances) {
    const truth = findCard(service, hooks, passId);
    if (truth !== undefined && balance !== truth["loyaltyBalance"])
      found.push(`stored a balance of ${balance}; it is ${truth["loyaltyBalance"]}`);
  }
  const newest = getNewestData(sent);
  for (const [passId, tier] of data.tiers) {
    const truth = newest.get(`tier.changed ${passId}`)?.["tier"];
    if (!isDeepStrictEqual(tier, truth))
      found.push(`stored the tier ${inspect(tier)}; it is ${inspect(truth)}`);
  }
  for (const [passId, consent] of data.consents) {
    const truth = newest.get(`consent.changed ${passId}`)?.["marketingConsent"];
    if (!isDeepStrictEqual(consent, truth)) found.push(`stored the consent ${inspect(consent)}`);
  }
  return found;
}

function findCard(service: MockService, hooks: Required<Hooks>, id: string): Members | undefined {
  return [...stored(service).cards.keys()]
    .map((each) => hooks.card({ ...service.cards.get(each) }))
    .find((card) => card["id"] === id);
}

/** The data of the newest event of each type and card: the mock service creates them in order. */
function getNewestData(sent: readonly Sent[]): Map<string, Members> {
  const newest = new Map<string, Members>();
  for (const { event } of sent) {
    const { type, data } = event;
    const { passId, passIds } = (data ?? {}) as { passId?: unknown; passIds?: unknown };
    for (const id of Array.isArray(passIds) ? passIds : [passId]) newest.set(`${type} ${id}`, data);
  }
  return newest;
}

/** Finds personal data and secrets in logged text. */
export function findLeaks(texts: readonly string[], words: readonly string[]): string[] {
  return texts.flatMap((text) =>
    words
      .filter((word) => text.includes(word))
      .map(() => `a secret or personal data in: ${text.slice(0, 300)}`),
  );
}

/** Finds the ends and statuses that the mutations do not declare. */
export function findUndeclared(
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
  for (const route of ["unexpectedData", "otherTypes"] as const) {
    const expected = mutations.flatMap((mutation) => mutation[route] ?? []).sort();
    for (const { name, stored: data } of consumers) {
      const types = [...new Set(data[route])].sort();
      if (!isDeepStrictEqual(types, expected))
        found.push(`${name}: ${route} got ${types} instead of ${expected}`);
    }
  }
  for (const { event, statuses } of sent) {
    const expected = refused[String(event.type)] ?? refused["*"] ?? 204;
    for (const [{ name }, status] of statuses) {
      if (status !== expected) found.push(`${name}: ${status} for ${event.type} instead of ${expected}`);
    }
  }
  return found;
}
