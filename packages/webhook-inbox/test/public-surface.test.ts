/** The exports of each entry point. */
import { expect, it } from "vitest";

it("exports from .", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-inbox")).sort()).toMatchInlineSnapshot(`
    [
      "bullmqInbox",
      "inboxHandler",
      "openLibsql",
      "pgBossInbox",
      "sqliteInbox",
    ]
  `);
});
it("exports from ./sqlite", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-inbox/sqlite")).sort()).toMatchInlineSnapshot(`
    [
      "ensureTables",
      "isNewest",
      "markProcessed",
    ]
  `);
});
it("exports from ./postgres", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-inbox/postgres")).sort()).toMatchInlineSnapshot(`
    [
      "ensureTables",
      "isNewest",
      "markProcessed",
      "withPgTransaction",
      "withPostgresJsTransaction",
    ]
  `);
});
it("exports from ./otel", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-inbox/otel")).sort()).toMatchInlineSnapshot(`
    [
      "inboxMetrics",
    ]
  `);
});
it("exports from ./status", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-inbox/status")).sort()).toMatchInlineSnapshot(`
    [
      "expressStatusPage",
      "fetchStatusPage",
    ]
  `);
});

it("allows every major version of an engine that is tested", async () => {
  const { default: manifest } = await import("../package.json", { with: { type: "json" } });
  expect(manifest.peerDependencies).toMatchObject({
    bullmq: "^5.66.0 || ^6.0.0", // 5.66 is the first version that resets the attempts of a replayed job
    "pg-boss": "^10.0.0 || ^11.0.0 || ^12.0.0",
  });
});
