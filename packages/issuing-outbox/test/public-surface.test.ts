/** The exports of each entry point. */
import { expect, it } from "vitest";

it.each([
  ["", ["openLibsql", "sqliteOutbox"]],
  ["/postgres", ["ensureTables", "postgresOutbox"]],
  ["/otel", ["outboxMetrics"]],
])("exports from @loyalty-cards/issuing-outbox%s", async (path, names) => {
  expect(Object.keys(await import(`@loyalty-cards/issuing-outbox${path}`)).sort()).toEqual(names);
});
