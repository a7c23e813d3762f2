/** `npm run generate`: the files are current, a service's document is adopted, and nothing is written before everything is generated. */
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { generate } from "../../generate.ts";

const repository = fileURLToPath(new URL("../../../../", import.meta.url));
const home = join(repository, "openapi");

/** Copies the files that the command reads and writes. @returns the copied openapi folder */
function copyFolder(): string {
  const copy = mkdtempSync(join(tmpdir(), "generate-"));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  for (const path of ["openapi", "packages/contract"])
    cpSync(join(repository, path), join(copy, path), { recursive: true });
  return join(copy, "openapi");
}

/** The content of every file in a folder, by its path there. */
const readFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => /\.\w+$/.test(path))
      .map((path) => [path, readFileSync(join(folder, path), "utf8")]),
  );

async function run(folder: string, ...args: string[]) {
  const lines: string[] = [];
  const code = await generate(args, folder, (line) => void lines.push(line));
  return { code, lines };
}

/** Starts a service that responds with this body at /api/docs/json. */
async function serve(body: string | object, { status = 200, headers = {} } = {}): Promise<string> {
  const bytes = typeof body === "string" ? body : JSON.stringify(body);
  const server = createServer((request, response) => {
    response
      .writeHead(request.url === "/api/docs/json" ? status : 404, { connection: "close", ...headers })
      .end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Our document with another property of a card, as JSON Schema. */
function withProperty(schema: object) {
  const document = structuredClone(openapi);
  Object.assign(document.components.schemas.Card.properties, { expiresAt: schema });
  return document;
}

it("reports no stale file with --check", async () => {
  expect(await run(home, "--check")).toEqual({ code: 0, lines: [] });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
it.skipIf(!hasOpenssl)("creates the same signature vectors again with --vectors", async () => {
  expect(await run(home, "--vectors", "--check")).toEqual({ code: 0, lines: [] });
});

describe("--from", () => {
  it("finds no difference from the mock server, and writes nothing", async () => {
    const { url, close } = await startMockServer();
    onTestFinished(close);
    expect(await run(home, "--from", `${url}/`)).toEqual({
      code: 0,
      lines: ["No member of openapi.yaml differs from the service's document."],
    });
  });

  it("prints the changed lines with --check, and writes openapi.yaml and what derives from it without", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    const document = withProperty({ type: "string" });
    Object.assign(document.components.schemas.CardAddedEvent.properties.id, { maxLength: 36 }); // an anchor in the YAML
    const { ping: _, ...webhooks } = document.webhooks;
    const from = ["--from", await serve({ ...document, webhooks })];
    const sentence = "The service's document has no event ping; openapi.yaml keeps its own.";
    const lines = [
      '+ components.schemas.Card.properties.expiresAt: {"type":"string"}',
      "- components.schemas.CardAddedEvent.properties.id.maxLength: 512",
      "+ components.schemas.CardAddedEvent.properties.id.maxLength: 36",
      sentence,
    ];
    expect(await run(folder, ...from, "--check")).toEqual({ code: 1, lines });
    expect(readFiles(folder)).toEqual(before);

    const names = ["openapi.yaml", "generated/schema.ts", "generated/types.ts", "generated/openapi.json"];
    const written = [...names.map((name) => `openapi/${name}`), "packages/contract/openapi.json"];
    const { code, lines: printed } = await run(folder, ...from);
    expect([code, printed.filter((line) => !line.startsWith("wrote "))]).toEqual([0, lines]);
    expect(printed).toEqual(expect.arrayContaining(written.map((name) => `wrote ${name}`)));
    const after = readFiles(folder);
    const { "openapi.yaml": yaml = "" } = after;
    const toComments = (text = "") => text.split("\n").filter((line) => line.trim().startsWith("#"));
    expect(toComments(yaml)).toEqual(toComments(before["openapi.yaml"]));
    expect(parse(yaml)).toEqual(document); // the other events share the anchor
    expect(after["generated/schema.ts"]).toMatch(/expiresAt\?: string;/);
    expect(await run(folder, ...from, "--check")).toMatchObject({
      code: 1,
      lines: [sentence, expect.anything()],
    });
    expect(await run(folder, "--check")).toEqual({ code: 0, lines: [] });
  });

  it.each([
    ["a pattern that does not compile", { type: "string", pattern: "(" }, /regular expression/i],
    ["a type that does not exist", { type: "text" }, /type/],
  ])("changes no file when the document has %s", async (_, schema, message) => {
    const folder = copyFolder();
    const before = readFiles(folder);
    await expect(run(folder, "--from", await serve(withProperty(schema)))).rejects.toThrow(message);
    expect(readFiles(folder)).toEqual(before);
  });

  it.each<[string, body: string | object, RegExp, headers?: Record<string, string>]>([
    ["an HTML page", "<html>", /is not an OpenAPI 3 document/],
    ["a document of version 2", { swagger: "2.0" }, /is not an OpenAPI 3 document/],
    ["less than it announced", "{", /is not an OpenAPI 3 document/, { "content-length": "2" }],
  ])("refuses %s", async (_, body, message, headers) => {
    await expect(run(home, "--from", await serve(body, { headers }))).rejects.toThrow(message);
  });

  it.each([
    ["a text that is not a URL", ["--from", "cards"], "--from is not a URL"],
    ["a password", ["--from", "https://shop:hidden@cards.example.com"], "--from contains a user name"],
    ["a service that does not respond", ["--from", "http://127.0.0.1:1"], "does not respond"],
    ["an unknown option", ["--form", "x"], "--form"],
  ])("throws for %s", async (_, args, message) => {
    await expect(run(home, ...args)).rejects.toThrow(message);
  });

  it("ends with 2 and a message when the service responds with an error", async () => {
    const url = await serve("", { status: 500 });
    const ended = promisify(execFile)("npm", ["run", "--silent", "generate", "--", "--from", url], {
      cwd: repository,
    });
    const stderr = expect.stringContaining(`${url}/api/docs/json responded 500.`);
    await expect(ended).rejects.toMatchObject({ code: 2, stdout: "", stderr });
  });
});
