/** A service in virtual time for the tests of bulk issuing: it responds after a latency, and a test decides what. */
import {
  type BulkOptions,
  type BulkResult,
  type BulkRow,
  issueCards,
} from "@loyalty-cards/issuing-client/bulk";
import type { Checkpoint, CheckpointRecord } from "../src/bulk/issue-cards.ts";
import { type Clock, createIssuingClient } from "../src/index.ts";
import { apiKey, json } from "./scripted.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

export interface SentRequest {
  /** When it was sent, on the monotonic clock. */
  atMs: number;
  key: string;
  status?: number;
  /** Requests that were running when it was sent, with itself. */
  running: number;
}

export interface BulkServiceOptions {
  clock?: TestClock;
  latencyMs?: number | ((request: SentRequest) => number);
  /** @returns the response to a request; undefined for a new card. */
  respond?: (request: SentRequest, body: { customer: { email?: string } }) => Response | Error | undefined;
}

export type TestRow = BulkRow<{ name: string }> & {
  request: { customer: { email?: string; phone?: string } };
};

export const toRow = (userId: number | string, customer: object = {}, more: object = {}): TestRow => ({
  userId,
  request: {
    fieldValues: { name: "Anna" },
    customer: { email: `user${userId}@example.com`, ...customer, consents: { privacy: { version: "1" } } },
  },
  ...more,
});

export const toRows = (count: number) => Array.from({ length: count }, (_, index) => toRow(index));

/** Rows until a time on the clock. */
export function* rowsUntil(clock: Clock, endMs: number): Generator<TestRow> {
  for (let userId = 0; clock.monotonicMs() < endMs; userId++) yield toRow(userId);
}

export function createBulkService({
  clock = createTestClock(),
  latencyMs = 100,
  respond = () => undefined,
}: BulkServiceOptions = {}) {
  const sent: SentRequest[] = [];
  let running = 0;
  const client = createIssuingClient({
    baseUrl: "https://cards.test",
    apiKey,
    clock,
    random: () => 0.5,
    fetch: async (_url, init) => {
      running += 1;
      const key = new Headers(init?.headers).get("idempotency-key") ?? "";
      const request: SentRequest = { atMs: clock.monotonicMs(), key, running };
      sent.push(request);
      const ms = typeof latencyMs === "number" ? latencyMs : latencyMs(request);
      await new Promise<void>((resolve) => void clock.after(ms, resolve));
      running -= 1;
      const response = respond(request, JSON.parse(String(init?.body)));
      if (response instanceof Error) throw response;
      request.status = response?.status ?? 201;
      return response ?? json({ id: `card_of_${key}`, publicUrl: "https://cards.test/1" }, 201);
    },
  });

  const start = (source: Iterable<TestRow> | AsyncIterable<TestRow>, options: Partial<BulkOptions> = {}) =>
    issueCards(client, source, { template: "tpl_club", clock, random: () => 0.5, ...options });

  /** Runs to the end. @returns the results, and what was thrown. */
  async function run(source: Iterable<TestRow> | AsyncIterable<TestRow>, options: Partial<BulkOptions> = {}) {
    const results: BulkResult<TestRow>[] = [];
    const consume = async () => {
      for await (const result of start(source, options)) results.push(result);
    };
    const thrown: unknown = await clock.runUntilEnd(
      consume().then(
        () => undefined,
        (error) => error,
      ),
    );
    return { results, thrown, statuses: countStatuses(results) };
  }

  /** Requests per second between two times. */
  const rate = (fromMs: number, untilMs: number) =>
    (sent.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).length * 1000) / (untilMs - fromMs);

  return { clock, client, sent, start, run, rate };
}

export function countStatuses(results: readonly { status: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** A checkpoint in memory, as one in a database would be. */
export function memoryCheckpoint(records: CheckpointRecord[] = []) {
  const state = { records, isOpen: false };
  const checkpoint: Checkpoint = {
    async open() {
      state.isOpen = true;
      return {
        issued: records.filter(({ outcome }) => outcome === "issued").length,
        find: async (keyHash) => records.findLast((record) => record.keyHash === keyHash),
        append: async (added) => void records.push(...added),
        close: async () => {
          state.isOpen = false;
        },
      };
    },
  };
  return { checkpoint, state };
}
