/** The sign-up of two processes on one PostgreSQL, with the mock service on a port. */
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import fastify, { type FastifyInstance } from "fastify";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addSignUp } from "./sign-up.ts";
import { prepare } from "./tables.ts";
import { createSchema, hasPostgres } from "./test/servers.ts";

describe.skipIf(!(await hasPostgres()))("the sign-up", () => {
  const schema = createSchema();
  let mock: MockServer;
  let pool: pg.Pool;
  let apps: FastifyInstance[];

  beforeAll(async () => {
    mock = await startMockServer();
    const { apiKeys, templateId } = mock.service;
    Object.assign(process.env, {
      LOYALTY_URL: mock.url,
      LOYALTY_API_KEY: apiKeys.website,
    });
    pool = schema.pool(8);
    await prepare(pool);
    apps = [fastify(), fastify()];
    for (const app of apps) addSignUp(app, pool, templateId);
  });
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()));
    await mock.close();
  });

  async function signUp(
    form: { name: string; email?: string; phone?: string },
    process = 0,
  ) {
    const response = await apps[process]?.inject({
      method: "POST",
      url: "/sign-up",
      payload: form,
    });
    return { status: response?.statusCode, body: response?.json() };
  }
  const readCard = async ({ userId }: { userId: string }): Promise<string> =>
    (await pool.query("SELECT card FROM users WHERE id = $1", [userId])).rows[0]
      .card;

  it("shows the card, and accepts one account for an email", async () => {
    const anna = { name: "Anna", email: "anna@example.com", phone: "600100200" };
    const { status, body } = await signUp(anna);
    expect(status).toBe(201);
    expect(mock.service.cards.get(await readCard(body)).publicUrl).toBe(
      body.cardPage,
    );
    expect((await signUp(anna, 1)).status).toBe(409);
  });

  it("shows what the visitor has to correct, and issues one card to the corrected form", async () => {
    const ben = { name: "Ben", phone: "12" };
    const { status, body } = await signUp(ben);
    expect([status, body.message]).toEqual([422, "The phone number is not valid."]);
    expect(await readCard(body)).toBe(null);

    const correct = async (process: number) =>
      apps[process]?.inject({
        method: "PUT",
        url: `/users/${body.userId}`,
        payload: { ...ben, phone: "600100201" },
      });
    expect((await correct(1))?.statusCode).toBe(201);
    expect((await correct(0))?.statusCode).toBe(409);
    expect(mock.service.cards.get(await readCard(body)).status).toBe("active");
  });

  // G10
  it("signs people up in both processes while the service fails, and issues one card to each later", async () => {
    // The worst failure: cards are issued, and the responses are errors.
    const { id } = mock.service.faults.add({
      phase: "after-commit",
      kind: "status",
      status: 503,
    });
    const names = ["Cleo", "Dan", "Eve", "Finn"];
    const responses = await Promise.all(
      names.map((name, index) => signUp({ name }, index % 2)),
    );
    expect(responses.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    mock.service.faults.remove(id);
    const readCards = () =>
      Promise.all(responses.map(({ body }) => readCard(body)));
    await expect
      .poll(readCards, { timeout: 20_000 })
      .toEqual(names.map(() => expect.any(String)));
    const { items } = (await (await fetch(`${mock.url}/_mock/cards`)).json()) as {
      items: { id: string; fieldValues: { name: string } }[];
    };
    const issued = items.filter(({ fieldValues }) =>
      names.includes(fieldValues.name),
    );
    expect(new Set(issued.map((card) => card.id))).toEqual(
      new Set(await readCards()),
    );
    expect(issued).toHaveLength(4);
  }, 60_000);
});
