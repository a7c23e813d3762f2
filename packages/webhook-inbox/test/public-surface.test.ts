/** The face of the package, entry by entry: an added export is seen here. */
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
