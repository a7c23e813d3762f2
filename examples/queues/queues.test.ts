/** Deferred and bulk issuing on real queues: each user has exactly one card, in spite of an outage and of lost responses. */
import { createIssuingClient, type IssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { Queue } from "bullmq";
import PgBoss from "pg-boss";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, hasRedis, ownPrefix, ownSchema } from "../../packages/webhook-inbox/test/servers.ts";
import type { Chunk, Member, Members } from "./bulk.ts";
import { queueMembers as queueInRedis, workOnMembers as workInRedis } from "./bulk-bullmq.ts";
import { queueMembers as queueInPostgres, workOnMembers as workInPostgres } from "./bulk-pg-boss.ts";
import type { User, Users } from "./deferred.ts";
import { createSignUp as createInRedis } from "./deferred-bullmq.ts";
import { createSignUp as createInPostgres } from "./deferred-pg-boss.ts";

async function startService() {
  const { service, url, close } = await startMockServer();
  onTestFinished(close);
  const loyalty = createIssuingClient({
    baseUrl: url,
    apiKey: service.apiKeys.website,
    idempotencyNamespace: "tests",
    maxRetries: 0,
  });
  return { service, loyalty };
}
type Service = Awaited<ReturnType<typeof startService>>["service"];

const getCardIds = (service: Service) => [
  ...(service.snapshot().state as { cards: Map<string, unknown> }).cards.keys(),
];

function createUsers() {
  const saved = new Map<string, User>();
  const users: Users = {
    save: async (user) => void saved.set(user.id, structuredClone(user)),
    get: async (id) => structuredClone(saved.get(id)),
  };
  return { saved, users };
}

/** Signs up during an outage in which the first request was processed, and waits for the card. */
async function signUpDuringOutage(
  service: Service,
  saved: Map<string, User>,
  signUp: (user: User) => Promise<{ correct: string | undefined }>,
) {
  service.faults.add({ phase: "after-commit", kind: "reset", times: 1 });
  service.faults.add({ phase: "before", kind: "status", status: 503, times: 1 });
  const privacy = { version: "2026-01", acceptedAt: new Date() };
  const anna: User = { id: "user-anna", name: "Anna", phone: "+48600100200", privacy };
  expect(await signUp(anna)).toEqual({ correct: undefined });
  expect(saved.get(anna.id)).not.toHaveProperty("cardId");
  await expect.poll(() => saved.get(anna.id)?.cardId, { timeout: 20_000 }).toEqual(expect.any(String));
  expect(getCardIds(service)).toEqual([saved.get(anna.id)?.cardId]);
}

function createMembers(count: number) {
  const all = new Map<string, Member & { cardId?: string; error?: string }>();
  for (let number = 0; number < count; number += 1) {
    const id = `member-${number}`;
    const phone = `+48600${String(100_000 + number)}`;
    all.set(id, { id, name: "Anna", phone, privacyVersion: "2026-01" });
  }
  const members: Members = {
    claim: async (ids) =>
      ids.flatMap((id) => all.get(id) ?? []).filter(({ cardId, error }) => !cardId && !error),
    saveCard: async (id, cardId) => void Object.assign(all.get(id) ?? {}, { cardId }),
    saveError: async (id, error) => void Object.assign(all.get(id) ?? {}, { error }),
  };
  return { all, members };
}

/** Queues 300 members, of whom some have a lost response, and waits until all have a card. */
async function issueOnTwoMachines(
  { service }: { service: Service; loyalty: IssuingClient },
  { all }: ReturnType<typeof createMembers>,
  run: () => Promise<void>,
) {
  service.faults.add({ phase: "after-commit", kind: "reset", times: 6 });
  await run();
  const getCards = () => [...all.values()].flatMap(({ cardId }) => cardId ?? []);
  await expect.poll(() => getCards().length, { timeout: 40_000 }).toBe(all.size);
  expect(new Set(getCardIds(service))).toEqual(new Set(getCards()));
  expect(getCardIds(service)).toHaveLength(all.size);
}

describe.skipIf(!(await hasPostgres()))("on PostgreSQL", { timeout: 60_000 }, () => {
  const { schema, url } = ownSchema();
  async function startBoss() {
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false, close: true, wait: true }));
    return boss;
  }

  it("issues the card of a sign-up during an outage with pg-boss", async () => {
    const { service, loyalty } = await startService();
    const { saved, users } = createUsers();
    const seconds = { delaySeconds: 1, retrySeconds: 1 };
    const signUp = await createInPostgres(await startBoss(), loyalty, service.templateId, users, seconds);
    await signUpDuringOutage(service, saved, signUp);
  });

  it("issues the cards of many members on two machines with pg-boss", async () => {
    const started = await startService();
    const created = createMembers(300);
    await issueOnTwoMachines(started, created, async () => {
      const bosses = [await startBoss(), await startBoss()] as const;
      await queueInPostgres(bosses[0], [...created.all.keys()], { chunkSize: 50 });
      for (const boss of bosses)
        await workInPostgres(boss, started.loyalty, started.service.templateId, created.members);
    });
  });
});

describe.skipIf(!(await hasPostgres()))("an outage that is longer than the lease of pg-boss", () => {
  const { schema, url } = ownSchema();

  it("ends the run of a chunk before the next one begins", { timeout: 60_000 }, async () => {
    const { all, members } = createMembers(20);
    let runs = 0;
    const late: string[] = [];
    const loyalty = createIssuingClient({
      baseUrl: "http://127.0.0.1:1",
      apiKey: "lk_1",
      idempotencyNamespace: "tests",
      fetch: async (_url, init) => {
        const { customer } = JSON.parse(String(init?.body));
        if (customer.name !== `run ${runs}`) late.push(customer.name);
        throw new TypeError("The service is away.");
      },
    });
    const claim = async (ids: string[]) => {
      runs += 1;
      return (await members.claim(ids)).map((member) => ({ ...member, name: `run ${runs}` }));
    };
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false, close: true, wait: true }));
    await queueInPostgres(boss, [...all.keys()], { leaseSeconds: 2, retrySeconds: 1 });
    await workInPostgres(boss, loyalty, "tpl_club", { ...members, claim });
    await expect.poll(() => runs, { timeout: 40_000 }).toBeGreaterThanOrEqual(4);
    expect(late).toEqual([]);
  });
});

describe.skipIf(!(await hasRedis()))("on Redis", { timeout: 60_000 }, () => {
  const { prefix, url } = ownPrefix();

  it("issues the card of a sign-up during an outage with BullMQ", async () => {
    const { service, loyalty } = await startService();
    const { saved, users } = createUsers();
    const settings = { delaySeconds: 1, retrySeconds: 1, prefix };
    const { signUp, queue, worker } = createInRedis(url, loyalty, service.templateId, users, settings);
    onTestFinished(async () => {
      await worker.close();
      await queue.close();
    });
    await queue.waitUntilReady();
    await signUpDuringOutage(service, saved, signUp);
  });

  it("issues the cards of many members on two machines with BullMQ", async () => {
    const started = await startService();
    const created = createMembers(300);
    await issueOnTwoMachines(started, created, async () => {
      const queue = new Queue<Chunk>("issue-cards", { prefix, connection: { url } });
      await queueInRedis(queue, [...created.all.keys()], 50);
      for (let machine = 0; machine < 2; machine += 1) {
        const worker = workInRedis(queue, started.loyalty, started.service.templateId, created.members);
        onTestFinished(() => worker.close());
      }
      onTestFinished(() => queue.close());
    });
  });
});
