/** The exports of each entry point, types included: what a user can import, and no more. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";
import { compilerOptions } from "../../../tools/checks/in-memory-program.ts";
import manifest from "../package.json" with { type: "json" };

const toPath = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));
const entryPoints = Object.entries(manifest.exports).flatMap(([path, conditions]) =>
  typeof conditions === "string" ? [] : [{ path, source: toPath(conditions["@loyalty-cards/source"]) }],
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
      ".": "BalanceChanged CardAdded CardRemoved ConsentChanged DedupeStore Delivery EventHandlers Inbox KnownEvent Ping ReceivedRequest Receiver ReceiverOptions ReceiverOutcome ReceiverResponse Secret SignInput TierChanged UnknownEvent VerificationErrorReason VerifyInput WalletChange WebhookEvent WebhookVerificationError createReceiver isKnownEvent isWebhookVerificationError memoryDedupe onEvents signWebhook signWebhookSync verifyWebhook verifyWebhookSync",
      "./express": "expressReceiver",
      "./fastify": "FastifyReceiverOptions fastifyReceiver",
      "./fetch": "fetchReceiver",
      "./koa": "koaReceiver",
      "./lambda": "lambdaReceiver",
      "./nest": "nestReceiver",
      "./next": "NextRouteOptions nextPagesHandler nextRoute rawBodyConfig",
      "./node": "nodeReceiver",
    }
  `);
});

it("allows a program that emits declarations to export what each function returns", () => {
  const path = toPath("test/exported-results.ts");
  const emitting = { ...compilerOptions, noEmit: false, declaration: true, emitDeclarationOnly: true };
  const program = ts.createProgram([path], emitting);
  const errors = program.getDeclarationDiagnostics(program.getSourceFile(path) as ts.SourceFile);
  expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
});

it("declares only the peers whose version matters, with every tested major version", () => {
  expect(manifest.peerDependencies).toEqual({
    express: "^4.18.0 || ^5.0.0",
    fastify: "^5.0.0",
    koa: "^2.0.0 || ^3.0.0",
  });
});

it("has a types version, a place in the README and the shared test suite for each framework", () => {
  const paths = entryPoints.map(({ path }) => path.slice(2)).filter((path) => path !== "");
  expect(manifest.typesVersions["*"]).toEqual(
    Object.fromEntries(paths.map((path) => [path, [`./dist/${path}.d.cts`]])),
  );
  const readme = readFileSync(toPath("README.md"), "utf8");
  expect(paths.filter((path) => !readme.includes(`@loyalty-cards/webhook-verify/${path}`))).toEqual([]);
  const suite = readFileSync(toPath("test/every-adapter.ts"), "utf8");
  expect(paths.filter((path) => !suite.includes(`/adapters/${path}.ts`))).toEqual([]);
});
