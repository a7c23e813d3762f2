/** The sign-up of two processes on one PostgreSQL, with the mock service on a port. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import fastify, { type FastifyInstance } from "fastify";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  hasPostgres,
  ownSchema,
} from "../../packages/webhook-inbox/test/servers.ts";
import { addSignUp } from "./sign-up.ts";
import { prepare } from "./tables.ts";

describe.skipIf(!(await hasPostgres()))("the sign-up", () => {
  const schema = ownSchema();
  let mock: MockServer;
  let pool: pg.Pool;
  let apps: FastifyInstance[];

  beforeAll(async () => {
    mock = await startMockServer();
    const { apiKeys, templateId } = mock.service;
    const client = createIssuingClient({
      baseUrl: mock.url,
      apiKey: apiKeys.website,
    });
    pool = schema.pool();
    await prepare(pool);
    apps = [fastify(), fastify()];
    for (const app of apps) addSignUp(app, client, pool, templateId);
  });
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()));
    await mock.close();
  });

  async function send(
    process: number,
    method: "POST" | "PUT",
    url: string,
    form: object,
  ) {
    const response = await apps[process]?.inject({ method, url, payload: form });
    return { status: response?.statusCode, body: response?.json() };
  }
  const signUp = (form: object, process = 0) =>
    send(process, "POST", "/sign-up", form);
  const readCard = async (userId: string) =>
    (await pool.query("SELECT card FROM users WHERE id = $1", [userId])).rows[0]
      ?.card;

  it("shows the card, and accepts one account for an email", async () => {
    const anna = { name: "Anna", email: "anna@example.com", marketing: true };
    const { status, body } = await signUp(anna);
    expect(status).toBe(201);
    const card = mock.service.cards.get(await readCard(body.userId));
    expect(card.publicUrl).toBe(body.links.page);
    expect((await signUp(anna, 1)).status).toBe(409);
    expect((await signUp({ email: "ben@example.com" })).status).toBe(400);
  });

  it("shows what the visitor has to correct, and issues one card to the corrected form", async () => {
    const ben = { name: "Ben", phone: "12" };
    const { status, body } = await signUp(ben);
    expect([status, body.message]).toEqual([422, "The phone number is not valid."]);
    expect(await readCard(body.userId)).toBe(null);

    const correct = async (process: number, changes: object) =>
      (await send(process, "PUT", `/users/${body.userId}`, { ...ben, ...changes }))
        .status;
    expect(await correct(0, { email: "anna@example.com" })).toBe(409); // Anna's
    expect(await correct(1, { phone: "600100201" })).toBe(201);
    expect(await correct(0, { phone: "600100201" })).toBe(409);
    const card = mock.service.cards.get(await readCard(body.userId));
    expect(card.status).toBe("active");
  });

  // G10
  it("signs people up in both processes while the service fails, and issues one card to each later", async () => {
    // The worst failure: cards are issued, and the responses are errors.
    const fault = { phase: "after-commit", kind: "status", status: 503 } as const;
    const { id } = mock.service.faults.add(fault);
    const names = ["Cleo", "Dan", "Eve", "Finn"];
    const responses = await Promise.all(
      names.map((name, index) => signUp({ name }, index % 2)),
    );
    expect(responses.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    mock.service.faults.remove(id);
    const readCards = () =>
      Promise.all(responses.map(({ body }) => readCard(body.userId)));
    await expect
      .poll(readCards, { timeout: 20_000 })
      .toEqual(names.map(() => expect.any(String)));
    const { items } = (await (await fetch(`${mock.url}/_mock/cards`)).json()) as {
      items: { id: string; fieldValues: { name: string } }[];
    };
    const issued = items.filter(({ fieldValues }) =>
      names.includes(fieldValues.name),
    );
    expect(issued.map((card) => card.id).sort()).toEqual(
      (await readCards()).sort(),
    );
  }, 60_000);
});
