/**
 * A receiver that a test kills and starts again: `node killed-receiver.mjs KIND PORT JOURNAL`. What must survive is a line of the journal,
 * because a line that was appended survives the end of the process.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type BalanceChanged,
  isKnownEvent,
  memoryDedupe,
  type ReceiverOptions,
} from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";
import { pause, readProbedCard, type StoredCard } from "./effect-receivers.ts";

const [kind = "", port = "0", journal = ""] = process.argv.slice(2);

/** How long a handler works: so long that a kill meets it on a busy machine, too. A worker takes one event after the other. */
const workMs = kind.startsWith("marked") ? 500 : 150;

/** One line of the journal. */
type Line =
  | { kind: "stored"; event: BalanceChanged }
  | { kind: "taken" | "processed"; id: string }
  /** The effect, the id of the event and its time: written at once, as in one transaction. */
  | { kind: "effect"; id: string; cardId: string; balance?: number; createdAt?: string };

const cards = new Map<string, StoredCard>();
/** Events that were stored, taken or processed, and those that had their effect. */
const known = {
  stored: new Map<string, BalanceChanged>(),
  taken: new Set(),
  processed: new Set(),
  effect: new Set(),
};

function apply(line: Line) {
  if (line.kind === "stored") known.stored.set(line.event.id, line.event);
  else known[line.kind].add(line.id);
  if (line.kind !== "effect") return;
  const card = cards.get(line.cardId) ?? {};
  card.effects = (card.effects ?? 0) + 1;
  if (line.balance !== undefined) card.balance = line.balance;
  if (line.createdAt !== undefined) card.newest = line.createdAt;
  cards.set(line.cardId, card);
}

function write(line: Line) {
  apply(line);
  appendFileSync(journal, `${JSON.stringify(line)}\n`);
}

/** The balance of an older event is not stored. */
function createEffect({ id, createdAt, data }: BalanceChanged): Line {
  const isNewest = createdAt >= (cards.get(data.passId)?.newest ?? "");
  return {
    kind: "effect",
    id,
    cardId: data.passId,
    ...(isNewest ? { balance: data.balance, createdAt } : {}),
  };
}

const createHandler =
  (handle: (event: BalanceChanged) => void | Promise<void>): NonNullable<ReceiverOptions["handler"]> =>
  (event) =>
    isKnownEvent(event) && event.type === "balance.changed" ? handle(event) : undefined;

/** Events in the order of their arrival, each some time after the last one. */
function createWorker(handle: (event: BalanceChanged) => void | Promise<void>) {
  let last = Promise.resolve();
  return (event: BalanceChanged) => {
    last = last.then(() => pause(2)).then(() => handle(event));
  };
}

const inMemory = new Set<string>();
const isFirstHere = ({ id }: BalanceChanged) => !inMemory.has(id) && inMemory.add(id) !== undefined;

function applyOnce(event: BalanceChanged) {
  if (!known.effect.has(event.id)) write(createEffect(event));
}

/** An inbox in the journal; a worker that marks an event as taken before its effect loses it in a crash. */
function createInbox(isMarkedFirst: boolean): Partial<ReceiverOptions> {
  const work = createWorker(async (event) => {
    if (isMarkedFirst) write({ kind: "taken", id: event.id });
    await pause(workMs);
    applyOnce(event);
  });
  for (const event of known.stored.values()) {
    if (!known.taken.has(event.id) && !known.effect.has(event.id)) work(event);
  }
  return {
    handler: createHandler((event) => {
      if (known.stored.has(event.id)) return;
      write({ kind: "stored", event });
      work(event);
    }),
  };
}

const kinds: Record<string, () => Partial<ReceiverOptions>> = {
  transaction: () => ({ handler: createHandler(applyOnce) }),
  inbox: () => createInbox(false),
  "inbox that takes first": () => createInbox(true),
  "queue in memory": () => {
    const work = createWorker(async (event) => {
      await pause(workMs);
      applyOnce(event);
    });
    return { handler: createHandler((event) => void (isFirstHere(event) && work(event))) };
  },
  "dedupe in memory": () => ({
    dedupe: memoryDedupe(),
    handler: createHandler((event) => write(createEffect(event))),
  }),
  "marked before the effect": () => ({
    handler: createHandler(async (event) => {
      if (known.processed.has(event.id)) return;
      write({ kind: "processed", id: event.id });
      await pause(workMs);
      write(createEffect(event));
    }),
  }),
  "marked after the effect": () => ({
    handler: createHandler(async (event) => {
      if (known.processed.has(event.id) || !isFirstHere(event)) return;
      write(createEffect(event));
      await pause(workMs);
      write({ kind: "processed", id: event.id });
    }),
  }),
  "order in memory": () => {
    for (const card of cards.values()) card.newest = "";
    return { handler: createHandler(applyOnce) };
  },
  "everything in memory": () => {
    cards.clear();
    return {
      dedupe: memoryDedupe(),
      handler: createHandler((event) => apply(createEffect(event))),
    };
  },
};

if (existsSync(journal)) {
  for (const line of readFileSync(journal, "utf8").split("\n")) if (line !== "") apply(JSON.parse(line));
}
const options = kinds[kind]?.();
if (options === undefined) throw new Error(`There is no receiver ${kind}.`);
const receive = nodeReceiver({ secret, log: () => {}, timeoutMs: 1_500, ...options });
const server = createServer((request, response) => {
  const cardId = readProbedCard(request);
  if (cardId === null) {
    receive(request, response);
    return;
  }
  const { balance, effects } = cards.get(cardId) ?? {};
  response.end(JSON.stringify({ balance, effects }));
});
server.listen(Number(port), "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
