/** The OpenAPI document in tools of other authors: swagger-parser validates it, and the client that Hey API generates compiles and issues a card. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import SwaggerParser from "@apidevtools/swagger-parser";
import { createClient } from "@hey-api/openapi-ts";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { build } from "esbuild";
import { expect, it, onTestFinished } from "vitest";

const ts = createRequire(import.meta.url)("typescript");

/** The address of a mock server that is closed after the test. */
async function openMock() {
  const { url, close, service } = await startMockServer();
  onTestFinished(close);
  return { url, service };
}

it("swagger-parser accepts the document of the mock server and that of the contract package", async () => {
  const { url } = await openMock();
  const served = await SwaggerParser.validate(await (await fetch(`${url}/api/docs/json`)).json());
  expect(served.servers).toMatchObject([{ url: `${url}/api/v1` }]);
  const file = new URL("../../packages/contract/openapi.json", import.meta.url);
  await SwaggerParser.validate(JSON.parse(readFileSync(file, "utf8")));
});

it("the client that Hey API generates from the document of the mock server compiles, and issues a card there", async () => {
  const { url, service } = await openMock();
  const folder = mkdtempSync(join(tmpdir(), "hey-api-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await createClient({
    input: `${url}/api/docs/json`,
    output: folder,
    logs: { level: "silent", file: false },
  });
  const source = join(folder, "index.ts");
  expect(typeErrors(source)).toEqual([]);

  const outfile = join(folder, "client.mjs");
  await build({ entryPoints: [source], outfile, bundle: true, format: "esm", platform: "node" });
  const { issueCard } = await import(outfile);
  const { data, response } = await issueCard({
    auth: service.apiKeys.website,
    path: { templateId: service.templateId },
    body: { customer: { consents: { privacy: { version: "1" } } }, fieldValues: { name: "Anna" } },
  });
  expect([response.status, data]).toEqual([201, service.cards.get(data.id)]);
});

/** The errors of TypeScript in a program with this entry. */
function typeErrors(source) {
  const program = ts.createProgram([source], {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
  });
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}
