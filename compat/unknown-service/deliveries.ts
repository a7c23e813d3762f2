/** Delivers the events of a run to every receiver, and compares what the receivers did with the state of the service. */
import { type Agent, request as httpRequest } from "node:http";
import { inspect, isDeepStrictEqual } from "node:util";
import type { Draw } from "@loyalty-cards/internal/test/draw";
import { signWebhookSync } from "../../packages/webhook-verify/src/index.ts";
import type { Attempt, Changes, HeaderLines, Members, SentEvent } from "./case.ts";
import type { Receiver } from "./receivers.ts";

/** An event of the mock service, and the secret with which it was signed. */
export interface Captured {
  event: SentEvent;
  headers: HeaderLines;
  secret: string;
}

/** An event as it was sent, with the lowest status of each receiver. */
export interface Sent extends Captured {
  statuses: Map<Receiver, number>;
}

interface Delivering {
  captured: readonly Captured[];
  receivers: readonly Receiver[];
  /** The new secret and the old one. */
  secrets: readonly string[];
  changes: Changes;
  draw: Draw;
  url: string;
  agent: Agent;
}

/** Sends every delivery two or three times, in random order, 16 at once to each receiver, and again after a 503. */
export async function deliverAll(delivering: Delivering): Promise<Sent[]> {
  const { captured, receivers, secrets, changes, draw, url, agent } = delivering;
  const sent = captured.flatMap((each) =>
    changes.event(each.event).map((event): Sent => ({ ...each, event, statuses: new Map() })),
  );
  const attempts = sent.flatMap((each) => Array<Sent>(2 + draw.below(2)).fill(each));
  const deliveries = receivers.map(async (receiver, index) => {
    const counts = new Map<Sent, number>();
    let waiting = draw.shuffled(attempts);
    for (let round = 0; waiting.length > 0 && round < 5; round++) {
      const again: Sent[] = [];
      const deliver = async () => {
        for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
          const number = counts.get(each) ?? 0;
          counts.set(each, number + 1);
          const [headers, body] = sign(each, number, secrets, changes);
          const status = await post(`${url}/webhooks/${index}`, agent, headers, body);
          each.statuses.set(receiver, Math.min(status, each.statuses.get(receiver) ?? status));
          if (status === 503) again.push(each);
        }
      };
      await Promise.all(Array.from({ length: 16 }, deliver));
      waiting = again;
    }
  });
  await Promise.all(deliveries);
  return sent;
}

function sign(sent: Sent, number: number, secrets: readonly string[], changes: Changes) {
  const body = changes.body(JSON.stringify(sent.event));
  const nowSeconds = Math.floor(Date.now() / 1000);
  const otherSecret = secrets.find((secret) => secret !== sent.secret) ?? "";
  const attempt: Attempt = {
    number,
    nowSeconds,
    otherSecret,
    sign: ({ secret = sent.secret, timestamp = nowSeconds } = {}) =>
      signWebhookSync({ rawBody: body, secret, timestamp }),
  };
  const headers = sent.headers.filter(([name]) => name !== "service-signature");
  return [changes.headers([...headers, ["service-signature", attempt.sign()]], attempt), body] as const;
}

/** Uses node:http, because fetch changes headers. */
function post(url: string, agent: Agent, headers: HeaderLines, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", agent }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    request.once("error", reject);
    for (const [name, value] of headers) request.setHeader(name, value);
    request.setHeader("content-length", Buffer.byteLength(body));
    request.end(body);
  });
}

/** Compares what a receiver processed and stored with what was sent and with the cards of the service. */
export async function compare(
  receiver: Receiver,
  sent: readonly Sent[],
  cards: readonly Members[],
): Promise<string[]> {
  const found: string[] = [];
  const dead = await receiver.settle();
  if (dead.length > 0) found.push(`has dead letters: ${dead.join(", ")}`);
  const { handled, unexpectedData, hasGaps, values } = receiver.stored;
  const counts = new Map<string, number>();
  for (const id of handled) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const [id, count] of counts) if (count > 1) found.push(`handled ${id} ${count} times`);
  for (const { event, statuses } of sent) {
    const status = statuses.get(receiver) ?? 0;
    const isAcknowledged = status >= 200 && status < 300;
    const isHandled = counts.has(String(event.id));
    if (isAcknowledged && !isHandled) found.push(`lost ${event.type} ${event.id}`);
    if (!isAcknowledged && isHandled) found.push(`handled ${event.id}, which it rejected with ${status}`);
    if (status >= 500) found.push(`responded ${status} to ${event.type}`);
  }

  const isComplete = sent.every(({ statuses }) => statuses.get(receiver) === 204);
  if (!isComplete || unexpectedData.size > 0 || hasGaps) return found; // the program knows that its data is incomplete
  const newest = getNewestValues(sent, cards);
  for (const [key, { value }] of values) {
    const truth = newest.get(key);
    if (!isDeepStrictEqual(value, truth))
      found.push(`stored ${key} as ${inspect(value)}; it is ${inspect(truth)}`);
  }
  return found;
}

/** By event type and card: the balances of the service, and the values of the newest events, which it creates in order. */
function getNewestValues(sent: readonly Sent[], cards: readonly Members[]): Map<string, unknown> {
  const newest = new Map<string, unknown>();
  for (const { event } of sent) {
    const { passId, passIds = [passId], balance, tier, marketingConsent } = event.data ?? {};
    const values = { "balance.changed": balance, "tier.changed": tier, "consent.changed": marketingConsent };
    for (const id of passIds as unknown[])
      newest.set(`${event.type} ${id}`, values[event.type as keyof typeof values]);
  }
  for (const { id, loyaltyBalance } of cards) newest.set(`balance.changed ${id}`, loyaltyBalance);
  return newest;
}
