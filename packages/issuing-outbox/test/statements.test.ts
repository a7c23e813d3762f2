/** The statements of the outbox: they find rows by an index, whatever waits. */
import { expect, it } from "vitest";
import { openWatched } from "../../webhook-inbox/test/inboxes.ts";
import { openVirtualShop, template, toEntries, toEntry } from "./shop.ts";

it("records the results of a worker that arrive together in one transaction", async () => {
  let commits = 0;
  const open = openWatched((sql) => {
    commits += Number(sql === "COMMIT");
  });
  const { outbox, run } = openVirtualShop({ open });
  await run(outbox.addAll(toEntries(40)));
  commits = 0;
  expect(await run(outbox.drain({ concurrency: 20 }))).toMatchObject({ issued: 40 });
  expect(commits).toBeLessThan(20); // one for each card would be 40
});

it("finds entries by an index in every statement of sending, pausing and correcting", async () => {
  const statements = new Set<string>();
  const open = openWatched((sql) => statements.add(sql));
  const { outbox, signUp, weather, run, clock, database } = openVirtualShop({ open });
  for (const userId of ["1", "2", "3"]) await run(signUp(userId));
  await run(outbox.write((own) => outbox.add(own, { ...toEntry(4), template: "tpl_none" })));
  weather.push("lost", 500, 422, 503, "refused");
  const worker = outbox.work({ pollMs: 30_000 });
  await clock.pass(3_600_000);
  await run(worker.stop());
  await run(outbox.write((own) => outbox.correct(own, 1, toEntry(1).request)));
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
