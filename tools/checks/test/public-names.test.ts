/** What a user can import: the names that each entry point of each package exports, types included. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";
import { readEntries } from "../../release/build.ts";

const packages = fileURLToPath(new URL("../../../packages/", import.meta.url));

/** The names that an entry point exports, from its source: no `export *` hides one. */
function readExports(path: string): string[] {
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement): string[] => {
    if (ts.isExportDeclaration(statement)) {
      if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause))
        throw new Error(`${path} must name what it exports.`);
      return statement.exportClause.elements.map(({ name }) => name.text);
    }
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText());
    return [(statement as ts.DeclarationStatement).name?.getText() ?? "default"];
  });
}

const manifests = readdirSync(packages).map((folder) => ({
  folder,
  ...(JSON.parse(readFileSync(`${packages}${folder}/package.json`, "utf8")) as {
    exports?: Record<string, unknown>;
  }),
}));

it("exports these names", () => {
  const names: Record<string, string> = {};
  for (const { folder, exports = {} } of manifests) {
    for (const [entry, source] of Object.entries(readEntries(exports))) {
      const exported = readExports(`${packages}${folder}/${source}`).sort();
      names[entry === "index" ? folder : `${folder}/${entry}`] = exported.join(" ");
    }
  }
  expect(names).toMatchInlineSnapshot(`
    {
      "issuing-client": "CallOptions Card CardLinks ClientEvent ConsentState Customer FieldValues IssueCardOptions IssueCardRequest IssuingClient IssuingClientOptions IssuingError IssuingErrorCode Operation ProblemDetails RejectedField ResponseMeta Template UserId cardLinks createIssuingClient defineTemplate deriveIdempotencyKey isIssuingError",
      "issuing-client/links": "CardLinks cardLinks qrCodeSvg",
      "issuing-outbox": "CorrectionResult DrainOptions IssueOptions ListOptions Outbox OutboxCounts OutboxEntry OutboxEntryError OutboxOptions OutboxOutcome OutboxState OutboxWorker OwedCard SqliteDatabase SqliteOutbox SqliteOutboxOptions WorkOptions openLibsql sqliteOutbox",
      "issuing-outbox/postgres": "PostgresOutbox PostgresOutboxOptions ensureOutboxTables postgresOutbox",
      "mock-server": "Attempt Card Clock Deliver Delivery Duration EndpointInput Fault FaultInput ManualClock MockService MockServiceOptions Operation ServiceClock Snapshot Template TemplateField TemplateInput TrafficRequest WaitCondition WaitTimeoutError createMockService manualClock scaledClock",
      "mock-server/doctor": "CheckReceiverOptions Finding ReceiverReport checkReceiver",
      "mock-server/msw": "mockHandlers",
      "mock-server/node": "MockServer MockServerOptions TrafficEvent startMockServer",
      "webhook-inbox": "BullmqInboxOptions InboxEntry InboxHealth InboxOutcome PgBossInboxOptions QueueDelivery QueueHandler ReplayableInbox SqliteDelivery SqliteHandler SqliteInbox SqliteInboxOptions SqliteWorker bullmqInbox inboxHandler openLibsql pgBossInbox sqliteInbox",
      "webhook-inbox/postgres": "PostgresTransaction ensureInboxTables isNewest markProcessed",
      "webhook-inbox/sqlite": "SqliteDatabase ensureInboxTables isNewest markProcessed",
      "webhook-verify": "BalanceChanged CardAdded CardRemoved ConsentChanged DedupeStore Delivery EventHandlers Inbox KnownEvent Ping Receiver ReceiverOptions ReceiverOutcome ReceiverResponse Secret TierChanged UnknownEvent VerificationErrorReason VerifyInput WebhookEvent WebhookVerificationError createReceiver isKnownEvent isWebhookVerificationError memoryDedupe onEvents signWebhook signWebhookSync verifyWebhook verifyWebhookSync",
      "webhook-verify/express": "expressReceiver",
      "webhook-verify/fastify": "FastifyReceiverOptions fastifyReceiver",
      "webhook-verify/fetch": "fetchReceiver",
      "webhook-verify/lambda": "lambdaReceiver",
      "webhook-verify/next": "NextRouteOptions nextPagesHandler nextRoute rawBodyConfig",
      "webhook-verify/node": "nodeReceiver",
    }
  `);
});
