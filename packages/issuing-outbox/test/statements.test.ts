/** The statements of the outbox: they find rows by an index, whatever waits. */
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { expect, it } from "vitest";
import { nextPhone, openVirtualShop, scratchFile, template, toRequest } from "./shop.ts";

it("records the results of a worker that arrive together in one transaction", async () => {
  let commits = 0;
  const open = (file: string) => {
    const database = openSqlite(file);
    const exec = database.exec.bind(database);
    database.exec = (sql) => {
      commits += Number(sql === "COMMIT");
      return exec(sql);
    };
    return database;
  };
  const { outbox, run } = openVirtualShop({ file: scratchFile(), open });
  const toEntry = (userId: number) => ({ userId, template, request: toRequest({ phone: nextPhone() }) });
  await run(outbox.addAll(Array.from({ length: 40 }, (_, userId) => toEntry(userId))));
  commits = 0;
  expect(await run(outbox.drain({ concurrency: 20 }))).toMatchObject({ issued: 40 });
  expect(commits).toBeLessThan(20); // one for each card would be 40
});

it("finds entries by an index in every statement of sending, pausing and correcting", async () => {
  const statements = new Set<string>();
  const open = (file: string) => {
    const database = openSqlite(file);
    return {
      exec: (sql: string) => database.exec(sql),
      close: () => database.close(),
      prepare(sql: string) {
        statements.add(sql);
        return database.prepare(sql);
      },
    };
  };
  const { outbox, signUp, weather, run, clock, database } = openVirtualShop({ file: scratchFile(), open });
  for (const userId of ["1", "2", "3"]) await run(signUp(userId));
  await run(
    outbox.write((own) =>
      outbox.add(own, { userId: 4, template: "tpl_none", request: toRequest({ phone: nextPhone() }) }),
    ),
  );
  weather.push("lost", 500, 422, 503, "refused");
  const worker = outbox.work({ pollMs: 30_000 });
  await clock.pass(3_600_000);
  await run(worker.stop());
  await run(outbox.write((own) => outbox.correct(own, 1, toRequest({ phone: nextPhone() }))));
  for await (const _entry of outbox.list({ state: "issued", after: { userId: "1", template } }));
  const scans = [...statements]
    .filter((sql) => /issuing_outbox_entries/.test(sql))
    .filter((sql) => /^\s*(SELECT|UPDATE|DELETE|WITH)/.test(sql))
    .flatMap((sql) => {
      const values = Array.from(sql.matchAll(/\?/g), () => 1);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
      return plan.some(({ detail }) => /^SCAN (j|issuing_outbox_entries)\b(?!.*COVERING INDEX)/.test(detail))
        ? [sql]
        : [];
    });
  expect(statements.size).toBeGreaterThan(15);
  expect(scans).toEqual([]);
});
