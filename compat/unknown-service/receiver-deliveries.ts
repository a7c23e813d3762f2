/**
 * Delivers events to a receiver as a service would, and says what did not hold: which events it
 * handles, and how it responds.
 */
import { createHmac } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";
import { eventExamples } from "@loyalty-cards/openapi/event-examples";
import { fetchReceiver } from "../../packages/webhook-verify/src/adapters/fetch.ts";
import {
  type EventHandlers,
  memoryDedupe,
  onEvents,
} from "../../packages/webhook-verify/src/index.ts";
import { findLeaks } from "./expectations.ts";
import type { Attempt, DeliveryChange, DeliveryRow, Members } from "./row.ts";

const secrets = ["whsec_new", "whsec_old"] as const;

/** Returns one sentence for each violation. */
export async function checkReceiver(row: DeliveryRow): Promise<string[]> {
  const { change, toleranceSeconds = 300, expect } = row;
  const receiver = openReceiver(toleranceSeconds);
  const events = Object.values(eventExamples)
    .flatMap((event): Members[] => [event, { ...event, id: `${event.id}_2` }])
    .flatMap((event) => changeEvent(change, event));
  // A duplicate before the other events, and one after them.
  const sent = [...events, ...events].flatMap((event) => [event, event]);
  for (const [index, event] of sent.entries())
    await receiver.deliver(createDelivery(change, event, index));

  const { statuses, handled, unexpectedData, otherTypes, log } = receiver;
  const ids = new Set(events.map(({ id }) => String(id)));
  const { status = 204 } = expect;
  const isRefused = status !== 204;
  const facts: [what: string, is: unknown, expected: unknown][] = [
    ["the statuses", statuses, new Set([status])],
    ["the handled events", handled.sort(), isRefused ? [] : [...ids].sort()],
    ["the types with unexpected data", unexpectedData, new Set(expect.unexpectedData)],
    ["the other types", otherTypes, new Set(expect.otherTypes)],
    ["the log", findLeaks(log, secrets), []],
  ];
  return facts
    .filter(([, is, expected]) => !isDeepStrictEqual(is, expected))
    .map(([what, is, expected]) => `${what}: ${inspect(is)} instead of ${inspect(expected)}`);
}

function openReceiver(toleranceSeconds: number) {
  const statuses = new Set<number>();
  const handled: string[] = [];
  const unexpectedData = new Set<string>();
  const otherTypes = new Set<string>();
  const log: string[] = [];
  const writeLog = (line: string) => void log.push(line);
  const handlers: Required<EventHandlers> = {
    "card.added": ({ data }) => data.passId.length,
    "card.removed": ({ data }) => data.passId.length,
    "balance.changed": ({ data }) => data.passId.length + data.balance.toFixed().length,
    "tier.changed": ({ data }) => data.passId.length,
    "consent.changed": ({ data }) => data.passIds.map((passId) => passId.length),
    ping: () => {},
    unexpectedData: ({ type }) => unexpectedData.add(type),
    otherTypes: ({ type }) => otherTypes.add(type),
  };
  const handle = onEvents(handlers, { log: writeLog });
  const receive = fetchReceiver({
    secret: secrets,
    toleranceSeconds,
    dedupe: memoryDedupe(),
    log: writeLog,
    async handler(event, delivery) {
      await handle(event, delivery);
      handled.push(event.id);
    },
  });
  const deliver = async (request: Request) => void statuses.add((await receive(request)).status);
  return { deliver, statuses, handled, unexpectedData, otherTypes, log };
}

/** Returns the events that a service sends for one event. */
function changeEvent(change: DeliveryChange, event: Members): Members[] {
  const differs = change.events === undefined || change.events.includes(event["type"]);
  if (!differs) return [event];
  if ("copies" in change) return Array.from({ length: change.copies }, () => event);
  if ("members" in change)
    return change.members.map((members, index) => ({
      ...event,
      id: `${event["id"]}_${index}`,
      ...members,
    }));
  if ("data" in change)
    return change.data.map((members, index) => ({
      ...event,
      id: `${event["id"]}_${index}`,
      data: { ...event["data"], ...members },
    }));
  return [event];
}

/**
 * Returns the request of one attempt. Every second event is signed with the other secret.
 * @param index that of the attempt: there are two in a row for each event.
 */
function createDelivery(change: DeliveryChange, event: Members, index: number): Request {
  const eventIndex = Math.floor(index / 2);
  const isRepeat = index % 2 === 1;
  const [secret, otherSecret] = eventIndex % 2 === 0 ? secrets : [secrets[1], secrets[0]];
  const json = JSON.stringify(event);
  const rawBody = "body" in change ? change.body(json) : json;
  const nowSeconds = Math.floor(Date.now() / 1000);
  // signWebhookSync takes whole seconds only.
  const sign: Attempt["sign"] = (timestamp, by = secret) => {
    const hmac = createHmac("sha256", by).update(`${timestamp}.${rawBody}`);
    return `t=${timestamp},v1=${hmac.digest("hex")}`;
  };
  const headers = new Headers({
    "content-type": "application/json",
    "service-event": String(event["type"]),
    "service-delivery": "dlv_1",
    "service-signature": sign(nowSeconds),
  });
  changeHeaders(change, headers, { eventIndex, isRepeat, nowSeconds, otherSecret, sign });
  return new Request("https://shop.test/", { method: "POST", headers, body: rawBody });
}

function changeHeaders(change: DeliveryChange, headers: Headers, attempt: Attempt): void {
  if ("withoutHeader" in change) headers.delete(change.withoutHeader);
  if (!("header" in change)) return;
  const { header, values } = change;
  const value = values[(attempt.eventIndex + Number(attempt.isRepeat)) % values.length];
  if (value !== undefined) headers.set(header, value(headers.get(header) ?? "", attempt));
}
