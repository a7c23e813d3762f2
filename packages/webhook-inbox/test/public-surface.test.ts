/** The exports of each entry point, types included: what a user can import, and no more. */
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";
import { compilerOptions } from "../../../tools/checks/in-memory-program.ts";
import manifest from "../package.json" with { type: "json" };

const entryPoints = Object.entries(manifest.exports).flatMap(([path, conditions]) =>
  typeof conditions === "string"
    ? []
    : [
        {
          path,
          source: fileURLToPath(new URL(`../${conditions["@loyalty-cards/source"]}`, import.meta.url)),
        },
      ],
);

it("exports these names", () => {
  const program = ts.createProgram(
    entryPoints.map(({ source }) => source),
    compilerOptions,
  );
  const checker = program.getTypeChecker();
  const getNames = (source: string) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(source) as ts.SourceFile);
    return checker.getExportsOfModule(module as ts.Symbol).map(({ name }) => name);
  };
  const names = Object.fromEntries(
    entryPoints.map(({ path, source }) => [path, getNames(source).sort().join(" ")]),
  );
  expect(names).toMatchInlineSnapshot(`
    {
      ".": "BullmqInbox BullmqInboxOptions InboxEntry InboxHealth InboxOutcome InspectableInbox PgBossInbox PgBossInboxOptions QueueDelivery QueueHandler SqliteDelivery SqliteHandler SqliteInbox SqliteInboxOptions SqliteWorker SqliteWorkerOptions bullmqInbox inboxHandler openLibsql pgBossInbox sqliteInbox",
      "./otel": "inboxMetrics",
      "./postgres": "PostgresTransaction ensureTables isNewest markProcessed withPgTransaction withPostgresJsTransaction",
      "./sqlite": "SqliteDatabase ensureTables isNewest markProcessed",
      "./status": "expressStatusPage fetchStatusPage",
    }
  `);
});

it("has a types version for each entry point", () => {
  const paths = entryPoints.map(({ path }) => path.slice(2)).filter((path) => path !== "");
  expect(manifest.typesVersions["*"]).toEqual(
    Object.fromEntries(paths.map((path) => [path, [`./dist/${path}.d.cts`]])),
  );
});

it("allows every major version of an engine that is tested", () => {
  expect(manifest.peerDependencies).toMatchObject({
    bullmq: "^5.66.0 || ^6.0.0", // 5.66 is the first version that resets the attempts of a replayed job
    "pg-boss": "^10.0.0 || ^11.0.0 || ^12.0.0",
  });
});
