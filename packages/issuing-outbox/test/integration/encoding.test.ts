/** An outbox in a PostgreSQL database that cannot store every character. */
import { randomUUID } from "node:crypto";
import { databaseUrl, hasPostgres } from "@loyalty-cards/testing/servers";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ensureOutboxTables, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, templateId, toEntry } from "../shop.ts";

describe.skipIf(!(await hasPostgres()))("in a database with the encoding LATIN1", () => {
  const name = `outbox_test_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const url = new URL(databaseUrl);
  url.pathname = name;
  const pool = new pg.Pool({ connectionString: url.href, max: 4 });
  beforeAll(async () => {
    const options = "ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'";
    await admin.query(`CREATE DATABASE ${name} ${options}`);
    await ensureOutboxTables(pool);
  });
  afterAll(async () => {
    await pool.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });

  function openOutbox() {
    const network = createNetwork();
    const rejected: unknown[] = [];
    const onRejected = (entry: unknown) => void rejected.push(entry);
    const outbox = postgresOutbox({ client: network.createClient(), pool, onRejected, log() {} });
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    const add = (userId: string) =>
      outbox.write((own) =>
        outbox.add(own as never, {
          userId,
          template: templateId,
          request: toEntry(userId).request,
        }),
      );
    return { ...network, outbox, rejected, add };
  }

  it("records a rejection whose text it cannot store", async () => {
    const { outbox, weather, rejected, add } = openOutbox();
    await add("1");
    const detail = "The phone number “12” isn’t valid. ✗ é";
    const headers = { "content-type": "application/problem+json" };
    weather.push(
      Response.json({ status: 422, title: "Invalid", detail }, { status: 422, headers }),
    );
    const entry = await outbox.issue("1");
    expect(entry).toMatchObject({ state: "rejected", error: { userMessage: detail } });
    expect(rejected).toMatchObject([{ userId: "1", error: { userMessage: detail } }]);
  });

  it("refuses a user id that it cannot store, and stores one that it can", async () => {
    const { outbox, add } = openOutbox();
    const refused = add("Łucja");
    await expect(refused).rejects.toThrow(TypeError);
    await expect(refused).rejects.toThrow(/no character of a user id.* UTF8/);
    expect(await add("Zoé")).toBe("added");
    expect(await outbox.issue("Zoé")).toMatchObject({ userId: "Zoé", state: "issued" });
  });
});
