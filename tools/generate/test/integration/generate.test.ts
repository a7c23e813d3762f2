/**
 * `npm run generate`: the files are current. With `--from` it stores the document of a service, names
 * what differs from openapi.yaml, and refuses a document that is none or not safe.
 */
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
import ts from "typescript";
import { describe, expect, it, onTestFinished } from "vitest";
import { generate } from "../../generate.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of other services can have any shape.
type AnyDocument = any;
type Change = (document: AnyDocument, schemas: AnyDocument) => void;

const repository = fileURLToPath(new URL("../../../../", import.meta.url));
const home = join(repository, "openapi");
const agrees = "The service's document agrees with openapi.yaml.";
const differs = "The service's document differs from openapi.yaml: see above.";

/**
 * Copies the files that the command reads and writes.
 * @returns the copied openapi folder
 */
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
      .writeHead(request.url === "/api/docs/json" ? status : 404, {
        connection: "close",
        ...headers,
      })
      .end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A changed copy of our document, as JSON, so that a member can be named `__proto__`. */
function changed(change: Change, edit = (text: string) => text): string {
  const document: AnyDocument = structuredClone(openapi);
  change(document, document.components.schemas);
  return edit(JSON.stringify(document));
}

it("reports no stale file with --check", async () => {
  expect(await run(home, "--check")).toEqual({ code: 0, lines: [] });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
it.skipIf(!hasOpenssl)("creates the same signature vectors again with --vectors", async () => {
  expect(await run(home, "--vectors", "--check")).toEqual({ code: 0, lines: [] });
});

const issue = "/templates/{templateId}/passes";

describe("--from", () => {
  it("agrees with the document of the mock server", async () => {
    const { url, close } = await startMockServer();
    onTestFinished(close);
    expect(await run(home, "--from", `${url}/`, "--check")).toEqual({ code: 0, lines: [agrees] });
  });

  it.each<[string, Change, edit?: (text: string) => string]>([
    [
      "with /api/v1 in its paths, and other names of parameters and schemas",
      ({ components }, schemas) => {
        components.parameters.CardId.name = "card";
        components.parameters.IdempotencyKey.name = "idempotency-key";
        schemas["Shop.Card"] = schemas.Card;
        delete schemas.Card;
      },
      (text) =>
        text
          .replaceAll("/passes/{id}", "/passes/{card}")
          .replaceAll(/"(?=\/(templates|passes)\/)/g, '"/api/v1')
          .replaceAll('schemas/Card"', 'schemas/Shop.Card"'),
    ],
    [
      "as code-first frameworks write it: any media type, `default`, optional bodies, more headers",
      ({ paths }, { BalanceChangedEvent, ConsentChange }) => {
        const { post } = paths[issue];
        const { "application/json": media } = post.requestBody.content;
        post.requestBody = { content: { "*/*": media } };
        post.responses = { default: post.responses["201"] };
        const schema = { type: "string" };
        post.parameters.push({ name: "Authorization", in: "header", required: true, schema });
        BalanceChangedEvent.properties.type = { type: "string" };
        Object.assign(ConsentChange.properties.version, { default: "1" });
      },
    ],
    [
      "which the client can use although it says more",
      ({ paths }, { Card, Customer, IssueCardRequest }) => {
        paths["/templates"] = { get: { responses: { 200: { description: "All." } } } };
        Object.assign(Card.properties, { status: { enum: ["active", "blocked"] } });
        Object.assign(Card.properties, { expiresAt: { type: "string" } });
        Object.assign(Customer.properties, { birthday: { type: "string" } });
        Object.assign(IssueCardRequest.properties, { fieldValues: { type: "object" } });
      },
    ],
  ])("agrees with a document %s", async (_, change, edit) => {
    const from = await serve(changed(change, edit));
    expect(await run(home, "--from", from, "--check")).toEqual({ code: 0, lines: [agrees] });
  });

  it("names the events that a document of version 3.0 does not describe, and agrees", async () => {
    const from = await serve(
      changed((document, { Card, FieldValues }) => {
        document.openapi = "3.0.3";
        delete document.webhooks;
        Card.properties.loyaltyTier = { type: "string", nullable: true };
        Card.properties.fieldValues = { allOf: [Card.properties.fieldValues] };
        FieldValues.additionalProperties = { oneOf: [{ type: "string" }, { type: "number" }] };
      }),
    );
    const types = Object.keys(openapi.webhooks).join(", ");
    const lines = [`The service's document does not describe the events ${types}.`, agrees];
    expect(await run(home, "--from", from, "--check")).toEqual({ code: 0, lines });
  });

  it.each<[string, Change, named: readonly (readonly [place: string, difference: RegExp])[]]>([
    [
      "a member that a response lacks, or may lack",
      (_, { Card, ConsentState }) => {
        delete Card.properties.customerId;
        ConsentState.required = ["customer"];
      },
      [
        ["responses.issueCard", /Property 'customerId' is missing/],
        ["responses.getCard", /Property 'customerId' is missing/],
        ["responses.getConsent", /Property 'marketingConsent' is optional/],
        ["responses.setConsent", /Property 'marketingConsent' is optional/],
      ],
    ],
    [
      "what the service requires of a request",
      ({ paths }, { Customer }) => {
        Customer.properties.shop = { type: "string" };
        Customer.required.push("shop");
        const tenant = { name: "tenant", in: "query", required: true, schema: { type: "string" } };
        paths["/passes/{id}"].get.parameters.push(tenant);
        delete paths["/passes/{id}/consent"].put.requestBody;
      },
      [
        ["requests.issueCard", /Property 'shop' is missing/],
        ["requests.getCard", /Property 'tenant' is missing/],
        ["requests.setConsent", /not assignable to type '"no body"'/],
      ],
    ],
    [
      "another path, another status, another media type",
      ({ paths }) => {
        paths["/cards/{id}/operations"] = paths["/passes/{id}/operations"];
        delete paths["/passes/{id}/operations"];
        const { responses } = paths[issue].post;
        paths[issue].post.responses = { 200: responses[201] };
        const { 200: success } = paths["/passes/{id}"].get.responses;
        success.content = { "application/xml": success.content["application/json"] };
      },
      [
        ["requests.listOperations", /Absent<"\/passes\/\{id\}\/operations">/],
        ["responses.issueCard", /Absent<201>/],
        ["responses.getCard", /Absent<"application\/json">/],
        ["responses.listOperations", /Absent<"\/passes\/\{id\}\/operations">/],
      ],
    ],
    [
      "another type in the data of an event",
      (_, { BalanceChangedEvent }) => {
        BalanceChangedEvent.properties.data.properties.balance = { type: "string" };
      },
      [
        [
          'events["balance.changed"]',
          /'data\.balance' are incompatible.*\n.*'string' is not assignable to type 'number'/,
        ],
      ],
    ],
  ])("names, as the compiler says it, %s", async (_, change, named) => {
    const { code, lines } = await run(home, "--from", await serve(changed(change)), "--check");
    expect([code, lines.at(-1)]).toEqual([1, differs]);
    const differences = lines.slice(0, -1);
    expect(differences).toHaveLength(named.length);
    for (const [index, [place, difference]] of named.entries()) {
      expect(differences[index]).toMatch(/^openapi\/service-comparison\.ts:\d+: /);
      expect(differences[index]?.split("\n")[0]).toContain(`.${place},`);
      expect(differences[index]).toMatch(difference);
    }
  });

  it("stores the document and its types, and nothing else, unless --check is given", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    const text = changed(({ paths }, { Card }) => {
      paths["/api/v1/templates"] = { get: { responses: { 200: { description: "All." } } } };
      delete Card.properties.customerId;
    });
    const from = ["--from", await serve(text)];
    const checked = await run(folder, ...from, "--check");
    expect([checked.code, readFiles(folder)]).toEqual([1, before]);

    const { code, lines } = await run(folder, ...from);
    const wrote = ["wrote openapi/service.json", "wrote openapi/generated/service.ts"];
    expect({ code, lines }).toEqual({ code: 0, lines: [...checked.lines, ...wrote] });
    const { "service.json": json, "generated/service.ts": types, ...others } = readFiles(folder);
    const { "generated/service.ts": _, ...othersBefore } = before;
    expect(others).toEqual(othersBefore);
    expect(JSON.parse(json ?? "")).toEqual(JSON.parse(text));
    expect(types).toContain('"/api/v1/templates": {');

    expect(await run(folder, "--check")).toEqual({ code: 0, lines: [] });
    rmSync(join(folder, "service.json"));
    await run(folder);
    const ownTypes = expect.stringContaining('export type { paths, webhooks } from "./schema.ts"');
    expect(readFiles(folder)).toEqual({ ...othersBefore, "generated/service.ts": ownTypes });
  });
});

describe("a document of a hostile service", () => {
  it("becomes only types, without what a terminal obeys", async () => {
    const folder = copyFolder();
    const text = changed(
      (document, { Card }) => {
        Card.description = "*/ export const evil = 1; /* \u001b]52;c;x\u0007\u202e";
        Card.properties.status = { enum: ['a"; evil(); "', "\u001b[31m"] };
        document.paths['/x"; evil(); "'] = { get: { responses: { 200: { description: "*/" } } } };
      },
      (json) => json.replace('"publicUrl":{', '"__proto__":{"type":"string"},$&'),
    );
    const { code } = await run(folder, "--from", await serve(text));
    const types = readFileSync(join(folder, "generated/service.ts"), "utf8");
    const { statements } = ts.createSourceFile("service.ts", types, ts.ScriptTarget.Latest);
    const isType = (node: ts.Node) =>
      ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
    expect([code, statements.filter((node) => !isType(node))]).toEqual([0, []]);
    expect(types).toContain("__proto__?: string;");
    expect(types).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  });

  it.each<[string, Change, RegExp]>([
    [
      "a file",
      (_, { Card }) => Object.assign(Card.properties, { x: { $ref: "../../secrets.json" } }),
      /refers to "..\/..\/secrets.json", which is not in the document/,
    ],
    [
      "an address",
      ({ components }) => {
        components.examples.Card = { externalValue: "http://127.0.0.1:1/x" };
      },
      /refers to "http:\/\/127.0.0.1:1\/x", which is not in the document/,
    ],
    [
      "a file by a discriminator",
      (_, { Card }) => {
        Card.discriminator = { propertyName: "status", mapping: { a: "file:///etc/hosts" } };
      },
      /refers to "file:\/\/\/etc\/hosts", which is not in the document/,
    ],
    [
      "a part that it does not have",
      (_, { Card }) => Object.assign(Card.properties, { x: { $ref: "#/components/schemas/Y" } }),
      /cannot be converted: Can't resolve \$ref at #\/components\/schemas\/Card\/properties\/x/,
    ],
    [
      "itself",
      ({ components }) => {
        components.parameters.CardId = { $ref: "#/components/parameters/CardId" };
      },
      /cannot be converted: Self-referencing circular pointer/,
    ],
  ])("is refused when it refers to %s", async (_, change, message) => {
    const from = await serve(changed(change));
    await expect(run(home, "--from", from, "--check")).rejects.toThrow(message);
  });

  it.each<[string, body: string, RegExp, headers?: Record<string, string>]>([
    ["an HTML page", "<html>", /is not an OpenAPI 3 document/],
    ["a list", "[]", /is not an OpenAPI 3 document/],
    ["a document of version 2", '{"swagger":"2.0"}', /is not an OpenAPI 3 document/],
    ["less than it announced", "{", /ended early/, { "content-length": "2" }],
    ["too much", " ".repeat(10_000_001), /is larger than 10000000 characters/],
    ["too deep", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, /cannot be used/],
    ["a name with an escape", '{"\\u001b[31m":1}', /contains a control character/],
  ])("is refused when it is %s", async (_, body, message, headers) => {
    await expect(run(home, "--from", await serve(body, { headers }))).rejects.toThrow(message);
  });
});

it.each([
  ["a text that is not a URL", ["--from", "cards"], "--from is not a URL"],
  [
    "a password",
    ["--from", "https://shop:hidden@cards.example.com"],
    "--from contains a user name",
  ],
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
