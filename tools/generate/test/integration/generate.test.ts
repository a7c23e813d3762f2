/** `npm run generate`: the files are current, a service's document is adopted, and nothing is written before everything is generated. */
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { generate } from "../../generate.ts";
import { documentLimits } from "../../service-document.ts";

const repository = fileURLToPath(new URL("../../../../", import.meta.url));
const home = join(repository, "openapi");

/** Copies the files that the command reads and writes. @returns the copied openapi folder */
function copyFolder(): string {
  const copy = mkdtempSync(join(tmpdir(), "generate-"));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  for (const path of [
    "package.json",
    "tools/generate",
    "tools/release/build.ts",
    "openapi",
    "packages/contract",
  ])
    cpSync(join(repository, path), join(copy, path), { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"));
  return join(copy, "openapi");
}

/** The content of every file in a folder, by path. */
const readFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, readFileSync(path, "utf8")]),
  );

async function run(folder: string, ...args: string[]) {
  const lines: string[] = [];
  const code = await generate(args, { folder, print: (line) => void lines.push(line) });
  return { code, lines };
}

/** Starts a service that responds with this body at /api/docs/json. */
async function serve(body: string | object, { status = 200, headers = {} } = {}): Promise<string> {
  const bytes = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const server = createServer((request, response) => {
    if (request.url === "/api/docs/json") response.writeHead(status, headers).end(bytes);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Our document with another property of a card, as JSON Schema. */
function withProperty(schema: object): object {
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
    const folder = copyFolder();
    const before = readFiles(folder);
    expect(await run(folder, "--from", `${url}/`)).toEqual({
      code: 0,
      lines: ["No member of openapi.yaml differs from the service's document."],
    });
    expect(readFiles(folder)).toEqual(before);
  });

  it("prints the changed lines with --check, and writes openapi.yaml and what derives from it without", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    const document = structuredClone(openapi) as Partial<typeof openapi>;
    const { Card, PingEvent } = document.components?.schemas ?? expect.fail();
    Object.assign(Card.properties, { expiresAt: { type: "string" } });
    Object.assign(PingEvent.properties.id, { maxLength: 36 }); // an anchor in the YAML
    const from = ["--from", await serve(document)];
    const lines = [
      '+ components.schemas.Card.properties.expiresAt: {"type":"string"}',
      "- components.schemas.PingEvent.properties.id.maxLength: 512",
      "+ components.schemas.PingEvent.properties.id.maxLength: 36",
    ];
    expect(await run(folder, ...from, "--check")).toEqual({ code: 1, lines });
    expect(readFiles(folder)).toEqual(before);

    expect(await run(folder, ...from)).toEqual({
      code: 0,
      lines: [
        ...lines,
        ...["openapi.yaml", "generated/schema.ts", "generated/types.ts", "generated/openapi.json"].map(
          (name) => `wrote openapi/${name}`,
        ),
        "wrote packages/contract/openapi.json",
        "wrote packages/contract/events/ping.json",
      ],
    });
    const after = readFiles(folder);
    const yaml = after[join(folder, "openapi.yaml")] ?? "";
    const comments = (text = "") => text.split("\n").filter((line) => line.trim().startsWith("#"));
    expect(comments(yaml)).toEqual(comments(before[join(folder, "openapi.yaml")]));
    expect(parse(yaml)).toEqual(document);
    expect(parse(yaml).components.schemas.CardAddedEvent).toEqual(openapi.components.schemas.CardAddedEvent);
    expect(after[join(folder, "generated/schema.ts")]).toMatch(/expiresAt\?: string;/);
    expect(await run(folder, ...from, "--check")).toMatchObject({ code: 0 });
    expect(await run(folder, "--check")).toEqual({ code: 0, lines: [] });
  });

  it("returns 1 with --check for an event that the document does not have", async () => {
    const { ping: _, ...webhooks } = openapi.webhooks;
    const { code, lines } = await run(home, "--check", "--from", await serve({ ...openapi, webhooks }));
    expect(code).toBe(1);
    expect(lines).toContain("The service's document has no event ping; openapi.yaml keeps its own.");
  });

  it.each([
    [
      "a pattern that does not compile",
      withProperty({ type: "string", pattern: "(" }),
      /regular expression/i,
    ],
    ["a type that does not exist", withProperty({ type: "text" }), /type/],
    ["an HTML page", "<html>", /is not an OpenAPI 3 document/],
    ["a document of version 2", { swagger: "2.0" }, /is not an OpenAPI 3 document/],
    ["half a document", '{"openapi":"3.1.0"', /is not an OpenAPI 3 document/],
    [
      "a list inside 100 others",
      `{"openapi":"3.1.0","x":${"[".repeat(100)}${"]".repeat(100)}}`,
      /100 levels deep/,
    ],
    ["a million brackets", `{"openapi":"3.1.0","x":${"[".repeat(1e6)}${"]".repeat(1e6)}}`, /100 levels deep/],
    ["200,000 values", `{"openapi":"3.1.0","x":[1${",1".repeat(2e5)}]}`, /more than 200,000 values/],
    ["too many bytes", `{"openapi":"3.1.0"}${" ".repeat(documentLimits.maxBytes)}`, /more than 4 MiB/],
  ])("changes no file when the service responds with %s", async (_, document, message) => {
    const folder = copyFolder();
    const before = readFiles(folder);
    await expect(run(folder, "--from", await serve(document))).rejects.toThrow(message);
    expect(readFiles(folder)).toEqual(before);
  });

  it("stops decompressing at the limit", async () => {
    const bomb = gzipSync(Buffer.alloc(2 ** 26, " "));
    const url = await serve(bomb, { headers: { "content-encoding": "gzip" } });
    await expect(run(home, "--from", url)).rejects.toThrow(/more than 4 MiB/);
  });

  it.each([
    ["a text that is not a URL", ["--from", "cards"], "--from is not a URL"],
    [
      "a password",
      ["--from", "https://shop:hidden@cards.example.com"],
      "--from contains a user name or a password.",
    ],
    ["a service that does not respond", ["--from", "http://127.0.0.1:1"], "does not respond"],
    ["an unknown option", ["--form", "x"], "--form"],
  ])("throws for %s", async (_, args, message) => {
    await expect(run(home, ...args)).rejects.toThrow(message);
  });

  it("ends with 2 and a message when the service responds with an error", async () => {
    const folder = copyFolder();
    const url = await serve("", { status: 500 });
    const args = ["run", "--silent", "generate", "--", "--from", url];
    const outcome = new Promise<unknown[]>((resolve) =>
      execFile("npm", args, { cwd: join(folder, "..") }, (error, stdout, stderr) =>
        resolve([error?.code, stdout, stderr]),
      ),
    );
    expect(await outcome).toEqual([2, "", expect.stringContaining(`${url}/api/docs/json responded 500.`)]);
  });
});
