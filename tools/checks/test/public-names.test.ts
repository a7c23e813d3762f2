/**
 * What a user can import: the names that each entry point exports, types included, and an example
 * of each function that compiles as it stands.
 */
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { entryPoints } from "../../packages.ts";
import { root } from "../../run.ts";

const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);

const program = ts.createProgram(
  entryPoints.map(({ source }) => source),
  options,
);
const checker = program.getTypeChecker();

function readExports(path: string): ts.Symbol[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(path) as ts.SourceFile);
  return checker.getExportsOfModule(module as ts.Symbol);
}

/** Compiles programs that exist in memory only; the files of the packages are not parsed again. */
function compile(files: ReadonlyMap<string, string>): string[] {
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.getSourceFile = (path, language, ...more) => {
    const text = files.get(path);
    return text === undefined
      ? (program.getSourceFile(path) ?? getSourceFile(path, language, ...more))
      : ts.createSourceFile(path, text, language, true);
  };
  const examples = ts.createProgram([...files.keys()], options, host, program);
  return [...files.keys()].flatMap((path) => {
    const source = examples.getSourceFile(path) as ts.SourceFile;
    return [
      ...examples.getSyntacticDiagnostics(source),
      ...examples.getSemanticDiagnostics(source),
    ].map(({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`);
  });
}

/** The programs of the `@example` tags of a declaration and of its members. */
function readExamples({ declarations = [] }: ts.Symbol): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    for (const { tagName, comment } of ts.getJSDocTags(node))
      if (tagName.text === "example") found.push(ts.getTextOfJSDocComment(comment) ?? "");
    ts.forEachChild(node, visit);
  };
  declarations.forEach(visit);
  return found.map(
    (text) => /^```ts\n(.*)\n```$/s.exec(text.trim())?.[1] ?? `not a program: ${text}`,
  );
}

it("exports these names", () => {
  const names = entryPoints.map(({ specifier, source }) => {
    const exported = readExports(source).map(({ name }) => name);
    return [specifier.replace("@loyalty-cards/", ""), exported.sort().join(" ")];
  });
  expect(Object.fromEntries(names)).toMatchInlineSnapshot(`
    {
      "issuing-client": "CallOptions Card CardLinks ClientEvent ConsentState Customer FieldValues IssueCardOptions IssueCardRequest IssuingClient IssuingClientOptions IssuingError IssuingErrorCode Operation ProblemDetails RejectedField ResponseMeta Template UserId cardLinks createIssuingClient defineTemplate deriveIdempotencyKey isIssuingError paths",
      "issuing-client/links": "CardLinks cardLinks qrCodeSvg",
      "issuing-outbox": "CorrectionResult DrainOptions IssueOptions ListOptions Outbox OutboxCounts OutboxEntry OutboxEntryError OutboxOptions OutboxOutcome OutboxState OutboxWorker OwedCard SqliteDatabase SqliteOutbox SqliteOutboxOptions WorkOptions openLibsql sqliteOutbox",
      "issuing-outbox/postgres": "PostgresOutbox PostgresOutboxOptions PostgresTransaction ensureOutboxTables fromDrizzle fromKysely postgresOutbox",
      "mock-server": "Attempt Card Clock Deliver Delivery Duration EndpointInput Fault FaultInput ManualClock MockService MockServiceOptions Operation ServiceClock Snapshot Template TemplateField TemplateInput TrafficRequest WaitCondition WaitTimeoutError createMockService manualClock scaledClock",
      "mock-server/doctor": "CheckReceiverOptions Finding ReceiverReport checkReceiver",
      "mock-server/msw": "mockHandlers",
      "mock-server/node": "MockServer MockServerOptions TrafficEvent startMockServer",
      "webhook-inbox": "BullmqInboxOptions InboxEntry InboxHealth InboxOutcome PgBossInboxOptions QueueDelivery QueueHandler ReplayableInbox SqliteDelivery SqliteHandler SqliteInbox SqliteInboxOptions SqliteWorker bullmqInbox inboxHandler openLibsql pgBossInbox sqliteInbox",
      "webhook-inbox/postgres": "PostgresTransaction ensureInboxTables fromDrizzle fromKysely isNewest markProcessed",
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

it("every exported function has an example that uses it, and every example compiles", {
  timeout: 300_000,
}, () => {
  const missing: string[] = [];
  const examples = new Map<string, string>();
  for (const { name, source } of entryPoints) {
    for (const exported of readExports(source)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const own = readExamples(symbol);
      const isFunction =
        (symbol.flags & ts.SymbolFlags.Value) !== 0 &&
        checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0;
      if (isFunction && !own[0]?.includes(exported.name)) missing.push(`${name}: ${exported.name}`);
      for (const [index, example] of own.entries())
        examples.set(
          join(root, "packages", name, `test/example-${exported.name}-${index}.ts`),
          example,
        );
    }
  }
  expect(missing).toEqual([]);
  expect(compile(examples)).toEqual([]);
});
