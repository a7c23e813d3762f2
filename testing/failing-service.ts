/**
 * What the crash tests of outbox and import share: a service and a network that fail at random, from a
 * seed that they print.
 */
import { existsSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import type { FaultInput } from "@loyalty-cards/mock-server";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { createDraw } from "./draw.ts";
import { listen } from "./resources.ts";

// The processes run from the build, and one that cannot start would look like a killed one.
if (!existsSync(new URL("../packages/issuing-outbox/dist/index.js", import.meta.url)))
  throw new Error("Run `npm run build` before this.");

const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
export const draw = createDraw(seed);
console.log(`CRASH_SEED=${seed}`);

type Failure = { kind: string; [member: string]: unknown };
const toFaults = (failures: readonly Failure[], phases: readonly string[]) =>
  failures.flatMap((failure) =>
    phases.map(
      (phase) => ({ phase, times: 1, match: { operation: "issueCard" }, ...failure }) as FaultInput,
    ),
  );
const statuses = [500, 503].map((status) => ({ kind: "status", status }));
const cut = ["reset", "destroy", "truncate", "hang"].map((kind) => ({ kind }));

/** The card is issued, and the client does not find out. */
export const lostResponses = toFaults(cut, ["after-commit"]);
export const serverErrors = toFaults(statuses, ["before", "after-commit"]);
export const everyFailure = [
  ...toFaults(
    [...cut, ...statuses, { kind: "html" }, { kind: "latency", delayMs: 300 }],
    ["before", "after-commit"],
  ),
  ...toFaults([{ kind: "status", status: 429 }], ["before"]), // it says that the request was not processed
];

/**
 * A service in which so many of a hundred requests fail in one of these ways. It responds 409 for a
 * second after each card.
 */
export async function startService(
  percentages: readonly [percent: number, faults: readonly FaultInput[]][],
  onRequest: (requests: number) => void = () => {},
) {
  const counts = { requests: 0, failures: 0, conflicts: 0 };
  const server = await startMockServer({
    onTraffic(event) {
      if (event.kind !== "request") return;
      counts.requests += 1;
      if (event.status === 409) counts.conflicts += 1;
      let rest = draw.below(100);
      for (const [percent, faults] of percentages) {
        if (rest >= 0 && rest < percent) {
          server.service.faults.add(draw.pick(faults));
          counts.failures += 1;
        }
        rest -= percent;
      }
      onRequest(counts.requests);
    },
  });
  const { apiKeys, faults, templateId } = server.service;
  faults.add({ kind: "in-progress", phase: "before", durationMs: 1_000 });
  return {
    counts,
    settings: { baseUrl: server.url, apiKey: apiKeys.website, template: templateId },
    close: () => server.close(),
    /** The cards of each customer, by email. */
    readCards() {
      const { customers } = server.service.snapshot().state as {
        customers: Map<string, { email: string; cardIds: string[] }>;
      };
      return new Map(Array.from(customers.values(), ({ email, cardIds }) => [email, cardIds]));
    },
  };
}

/** Cuts of the connection, in percent of the requests. */
const cutRequests = 3;

/** A network that is slow, and cuts connections at some moment of a request. */
export async function startNetwork(serviceUrl: string) {
  const open = new Set<Socket>();
  let cuts = 0;
  const network = createServer((client) => {
    const service = connect(Number(new URL(serviceUrl).port), "127.0.0.1");
    const delayMs = draw.below(25);
    const cut = () => {
      if (client.destroyed) return;
      cuts += 1;
      client.resetAndDestroy();
    };
    client.on("data", () => {
      if (draw.below(100) < cutRequests) setTimeout(cut, draw.below(80));
    });
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      from.on("data", (chunk) => setTimeout(() => to.writable && to.write(chunk), delayMs));
      from.on("error", () => {}); // a cut, or a killed process
      from.once("close", () => setTimeout(() => to.destroy(), delayMs));
    }
    open.add(client);
    client.once("close", () => open.delete(client));
  });
  let stopListening = () => {};
  const url = await listen(network, (close) => {
    stopListening = close;
  });
  return {
    url,
    cuts: () => cuts,
    close() {
      for (const socket of open) socket.destroy();
      stopListening();
    },
  };
}
