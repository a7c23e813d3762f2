/** `npm run generate`: the files are current, documents of services are compared in any style, and all files are written or none. */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { operations } from "@loyalty-cards/openapi/operations";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import type { Json } from "../../../../packages/cli/src/drift/document.ts";
import { fetchDocument } from "../../../../packages/cli/src/drift/document-reader.ts";
import { compareContracts, type Difference } from "../../../../packages/cli/src/drift/drift.ts";
import { driftRules } from "../../../../packages/cli/src/drift/drift-rules.ts";
import { generate } from "../../generate.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of other services can have any shape.
type AnyDocument = any;

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
    "packages/cli/src/drift",
    "openapi",
    "packages/contract",
  ]) {
    cpSync(join(repository, path), join(copy, path), { recursive: true });
  }
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

/** Runs the command in a separate process. */
function command(folder: string, file: string, ...args: string[]) {
  const child = spawn(file, args, { cwd: join(folder, ".."), stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      output[name] += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, ended: ended.then((code) => ({ code, ...output })) };
}

/** Starts a service that responds with this body at /api/docs/json. */
async function serving(body: string | AnyDocument, status = 200, onServed = () => {}): Promise<string> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const server = createServer((request, response) => {
    const isDocument = request.url === "/api/docs/json";
    response.writeHead(isDocument ? status : 404).end(isDocument ? text : "", onServed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const drift = async (document: AnyDocument, contract: Json = openapi) =>
  compareContracts(contract, await fetchDocument(await serving(document)));

/** A changed copy of the document. */
function changed(change: (document: AnyDocument) => void): AnyDocument {
  const document = structuredClone(openapi);
  change(document);
  return document;
}

/** Calls `change` with every object of a document, nested objects first. */
function visit(node: unknown, change: (node: AnyDocument) => void): void {
  if (typeof node !== "object" || node === null) return;
  for (const child of Object.values(node)) visit(child, change);
  if (!Array.isArray(node)) change(node);
}

const renamedPaths = (document: AnyDocument, rename: (path: string) => string) => {
  document.paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, item]) => [rename(path), item]),
  );
};

const eventSchemas = (document: AnyDocument) =>
  Object.entries<AnyDocument>(document.components.schemas).filter(([name]) => name.endsWith("Event"));

/** Replaces the webhooks with one for all events, whose body has this schema. */
function oneWebhook(
  document: AnyDocument,
  getSchema: (events: { schemas: object[]; mapping: Record<string, string> }) => object,
): void {
  const getReference = ({ post }: AnyDocument) => post.requestBody.content["application/json"].schema.$ref;
  const mapping = Object.fromEntries(
    Object.entries<AnyDocument>(document.webhooks).map(([type, item]) => [type, getReference(item)]),
  );
  const schemas = Object.values(mapping).map(($ref) => ({ $ref }));
  const [{ post }] = Object.values<AnyDocument>(document.webhooks) as [AnyDocument];
  post.requestBody.content["application/json"] = { schema: getSchema({ schemas, mapping }) };
  document.webhooks = { events: { post } };
}

/** The same contract in the styles of other services. */
const styles: Record<string, (document: AnyDocument) => void> = {
  "a prefix in the paths"(document) {
    document.servers = [];
    renamedPaths(document, (path) => `/api/v1${path}`);
  },
  "a prefix in the URL of the server"(document) {
    document.servers = [{ url: "https://cards.example.com/api/v1" }];
  },
  "a prefix in the paths and in the URL of the server"(document) {
    document.servers = [{ url: "/api" }];
    renamedPaths(document, (path) => `/v1${path}/`);
  },
  "a prefix with a variable, and a longer path with the same ending"(document) {
    renamedPaths(document, (path) => `/shops/{shopId}/api/v1${path}`);
    document.paths["/customers/{id}/passes/{passId}"] = {
      get: { responses: { "200": { description: "" } } },
    };
  },
  "other parameter names"(document) {
    renamedPaths(document, (path) =>
      path.replace("{templateId}", "{id}").replace("/passes/{id}", "/passes/{passId}"),
    );
    document.components.parameters.TemplateId.name = "id";
    document.components.parameters.CardId.name = "passId";
    document.components.parameters.IdempotencyKey.name = "idempotency-key";
  },
  "parameters of the path item"(document) {
    for (const item of Object.values<AnyDocument>(document.paths)) {
      const operations = Object.values<AnyDocument>(item);
      item.parameters = [operations[0].parameters[0]];
      for (const operation of operations) operation.parameters.shift();
    }
  },
  "no components.examples"(document) {
    delete document.components.examples;
    visit(document, (node) => {
      if (typeof node.examples === "object") delete node.examples;
    });
  },
  "no documentation, x- properties or operation ids"(document) {
    visit(document, (node) => {
      for (const key of Object.keys(node)) {
        if (key.startsWith("x-") || key === "operationId") delete node[key];
        if (
          ["description", "summary", "tags", "example", "links"].includes(key) &&
          typeof node[key] !== "object"
        )
          delete node[key];
      }
    });
  },
  "other schema names"(document) {
    document.components.schemas = Object.fromEntries(
      Object.entries(document.components.schemas).map(([name, schema]) => [`Api${name}Dto`, schema]),
    );
    visit(document, (node) => {
      if (typeof node.$ref === "string") node.$ref = node.$ref.replace(/(schemas\/)(.*)/, "$1Api$2Dto");
    });
  },
  "inline schemas"(document) {
    const inlined = (node: unknown): unknown => {
      if (typeof node !== "object" || node === null) return node;
      if (Array.isArray(node)) return node.map(inlined);
      const reference = (node as { $ref?: string }).$ref;
      const [, section = "", name = ""] = reference?.match(/^#\/components\/(.*)\/(.*)$/) ?? [];
      if (reference !== undefined) return inlined(document.components[section][name]);
      return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, inlined(child)]));
    };
    Object.assign(document, inlined(document));
    document.components = { securitySchemes: document.components.securitySchemes };
  },
  "no webhooks"(document) {
    delete document.webhooks;
  },
  "webhooks under other names"(document) {
    document.webhooks = Object.fromEntries(
      Object.entries(document.webhooks).map(([type, item]) => [`on ${type}`, item]),
    );
  },
  "one webhook with `oneOf` for all events"(document) {
    oneWebhook(document, ({ schemas }) => ({ oneOf: schemas }));
  },
  "one webhook with `anyOf` and a discriminator without mapping"(document) {
    oneWebhook(document, ({ schemas }) => ({ anyOf: schemas, discriminator: { propertyName: "type" } }));
  },
  "one webhook with `oneOf`, whose discriminator maps the types, in a component"(document) {
    for (const [, schema] of eventSchemas(document)) schema.properties.type = { type: "string" };
    oneWebhook(document, ({ schemas, mapping }) => {
      document.components.schemas.Event = {
        oneOf: schemas,
        discriminator: { propertyName: "type", mapping },
      };
      return { $ref: "#/components/schemas/Event" };
    });
  },
  "one webhook with a base schema, which the events extend and its discriminator maps"(document) {
    oneWebhook(document, ({ mapping }) => {
      for (const [, schema] of eventSchemas(document)) {
        const own = { ...schema };
        for (const key of Object.keys(schema)) delete schema[key];
        schema.allOf = [{ $ref: "#/components/schemas/Event" }, own];
      }
      document.components.schemas.Event = {
        type: "object",
        required: ["type"],
        properties: { type: { type: "string" } },
        discriminator: { propertyName: "type", mapping },
      };
      return { $ref: "#/components/schemas/Event" };
    });
  },
  "one webhook with common properties beside `oneOf`"(document) {
    for (const [, schema] of eventSchemas(document)) {
      delete schema.properties.createdAt;
      schema.required = schema.required.filter((name: string) => name !== "createdAt");
    }
    oneWebhook(document, ({ schemas }) => ({
      type: "object",
      required: ["createdAt"],
      properties: { createdAt: { type: "string", format: "date-time" } },
      oneOf: schemas,
    }));
  },
  "one webhook without headers"(document) {
    oneWebhook(document, ({ schemas }) => ({ oneOf: schemas }));
    delete document.webhooks.events.post.parameters;
  },
  "the signature as the security of webhooks, with other headers"(document) {
    document.components.securitySchemes.signature = {
      type: "apiKey",
      in: "header",
      name: "Service-Signature",
    };
    for (const { post } of Object.values<AnyDocument>(document.webhooks)) {
      post.parameters.pop();
      post.security = [{ signature: [] }];
    }
  },
  "read-only properties in requests, and write-only ones in responses"(document) {
    const { Customer, Card } = document.components.schemas;
    Customer.properties.id = { type: "string", readOnly: true };
    Customer.required.push("id");
    Card.properties.pin = { type: "string", writeOnly: true };
    Card.required.push("pin");
  },
  "fewer error statuses, and the body of errors in `default`"(document) {
    for (const item of Object.values<AnyDocument>(document.paths)) {
      for (const { responses } of Object.values<AnyDocument>(item)) {
        responses.default = { $ref: "#/components/responses/Temporary" };
        for (const status of ["400", "401", "413", "415", "429", "5XX"]) delete responses[status];
      }
    }
  },
  "no response bodies at all"(document) {
    for (const item of Object.values<AnyDocument>(document.paths)) {
      for (const { responses } of Object.values<AnyDocument>(item)) {
        for (const status of Object.keys(responses)) responses[status] = { description: "" };
      }
    }
  },
  "no limits and no security"(document) {
    delete document.security;
    visit(document, (node) => {
      for (const key of ["minLength", "maxLength", "pattern", "minimum", "maximum", "format"])
        delete node[key];
    });
  },
  "version 3.0, as a code-first framework writes it"(document) {
    document.openapi = "3.0.0";
    delete document.webhooks;
    const { loyaltyTier } = document.components.schemas.Card.properties;
    Object.assign(loyaltyTier, { type: "string", nullable: true });
    const { FieldValues, Card, IssueCardRequest } = document.components.schemas;
    FieldValues.additionalProperties = { oneOf: [{ type: "string" }, { type: "number" }] };
    Card.properties.fieldValues = { allOf: [Card.properties.fieldValues], description: "Values" };
    Card.properties.loyaltyBalance.format = "double";
    IssueCardRequest.properties.fieldValues = { type: "object" };
    document.components.parameters.CardId.schema = { type: "string" };
  },
};

it("reports no stale file with --check", async () => {
  expect(await run(home, "--check")).toEqual({ code: 0, lines: [] });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
it.skipIf(!hasOpenssl)("creates the same signature vectors again with --vectors", async () => {
  expect(await run(home, "--vectors", "--check")).toEqual({ code: 0, lines: [] });
});

describe("a service with the same contract", () => {
  it("is reported as unchanged, and no file is written, when it is the mock server", async () => {
    const { url, close } = await startMockServer();
    onTestFinished(close);
    const folder = copyFolder();
    const before = readFiles(folder);
    expect(await run(folder, "--from", url)).toEqual({ code: 0, lines: ["The contract has not changed."] });
    expect(await run(folder, "--from", `${url}/`, "--check")).toMatchObject({ code: 0 });
    expect(readFiles(folder)).toEqual(before);
  });

  it.each(Object.entries(styles))("is reported as unchanged when its document has %s", async (_, style) => {
    const { differences, contract } = await drift(changed(style));
    expect(differences).toEqual([]);
    expect(contract).toEqual(openapi);
  });

  it("is reported as unchanged when its document has all of these, with notes about additional operations", async () => {
    const { differences, notes } = await drift(
      changed((document) => {
        for (const [name, style] of Object.entries(styles)) {
          if (
            /^a prefix (?!in the paths$)|inline|path item|at all|names$|webhook(?!s$)|under other/.test(name)
          )
            continue;
          style(document);
        }
        styles["other schema names"]?.(document);
        document.paths["/api/v2/reports"] = { post: { responses: {} } };
      }),
    );
    expect(differences).toEqual([]);
    expect(notes).toContain("1 operation is not part of the contract, and omitted: POST /api/v2/reports.");
    expect(notes).toContain("The served document describes no webhooks; the contract keeps its own.");
  });

  it("is reported as unchanged, with a note, when its webhooks have no headers", async () => {
    const { differences, notes } = await drift(changed(styles["one webhook without headers"] ?? expect.fail));
    expect(differences).toEqual([]);
    expect(notes).toEqual([
      "The served document describes no headers of webhooks; the contract keeps its own.",
    ]);
  });
});

const schemas = (document: AnyDocument) => document.components.schemas;
const operation = (document: AnyDocument, path: string, method = "get") => document.paths[path][method];
const operationIds = Object.keys(operations);
const eventTypes = Object.keys(openapi.webhooks);
const without = (list: string[], name: string) => list.splice(list.indexOf(name), 1);

type Expected = `${Difference["severity"]} ${keyof typeof driftRules} ${string}`;
interface Patch {
  when: string;
  /** A JSON Merge Patch. */
  change: object;
  reports: Expected | Expected[];
}
const patches: Patch[] = parse(readFileSync(new URL("contract-changes.yaml", import.meta.url), "utf8"));

/** Applies a JSON Merge Patch (RFC 7396). */
function patch(target: AnyDocument, change: object): void {
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete target[key];
    else if (typeof value !== "object" || Array.isArray(value)) target[key] = value;
    else {
      target[key] ??= {};
      patch(target[key], value);
    }
  }
}

/** Changes of lists, and changes of every operation or event; contract-changes.yaml has the others. */
const changes: [title: string, change: (document: AnyDocument) => void, ...expected: Expected[]][] = [
  [
    "a response property is removed",
    (d) => {
      delete schemas(d).Card.properties.customerId;
      without(schemas(d).Card.required, "customerId");
    },
    "breaking property-removed Card.customerId",
  ],
  [
    "a response property becomes optional",
    (d) => without(schemas(d).Card.required, "publicUrl"),
    "breaking property-optional Card.publicUrl",
  ],
  [
    "a response property becomes required",
    (d) => schemas(d).Operation.required.push("change"),
    "compatible property-required Operation.change",
  ],
  [
    "a response property may no longer be null",
    (d) => Object.assign(schemas(d).Card.properties.loyaltyTier, { type: "string" }),
    "compatible type-narrowed Card.loyaltyTier",
  ],
  [
    "a required request property is added",
    (d) => {
      schemas(d).Customer.properties.birthday = { type: "string", format: "date" };
      schemas(d).Customer.required.push("birthday");
    },
    "breaking required-property-added Customer.birthday",
  ],
  [
    "a request property becomes required",
    (d) => schemas(d).Customer.required.push("phone"),
    "breaking property-required Customer.phone",
  ],
  [
    "a request property that the client always sends becomes required",
    (d) => schemas(d).IssueCardRequest.required.push("fieldValues"),
    "compatible always-sent-required IssueCardRequest.fieldValues",
  ],
  [
    "a required parameter is added",
    (d) =>
      operation(d, "/passes/{id}").parameters.push({
        name: "tenant",
        in: "query",
        required: true,
        schema: { type: "string" },
      }),
    "breaking parameter-required getCard › tenant",
  ],
  [
    "an optional parameter is added",
    (d) =>
      operation(d, "/passes/{id}").parameters.push({
        name: "X-Trace",
        in: "header",
        schema: { type: "string" },
      }),
    "compatible parameter-added getCard › X-Trace",
  ],
  [
    "the idempotency key is removed",
    (d) => operation(d, "/templates/{templateId}/passes", "post").parameters.pop(),
    "breaking parameter-removed issueCard › Idempotency-Key",
  ],
  [
    "the status of success changes",
    (d) => {
      const { responses } = operation(d, "/templates/{templateId}/passes", "post");
      responses["200"] = responses["201"];
      delete responses["201"];
    },
    "compatible success-status-changed issueCard › 201",
  ],
  [
    "the authentication changes",
    (d) =>
      Object.assign(d.components.securitySchemes, {
        websiteKey: { type: "apiKey", in: "header", name: "X-Api-Key" },
        fullKey: { type: "http", scheme: "basic" },
      }),
    ...operationIds.map((name) => `breaking authentication-changed ${name}` as const),
  ],
  [
    "OAuth 2 replaces the bearer key",
    (d) => {
      const flows = { clientCredentials: { tokenUrl: "https://cards.example.com/token", scopes: {} } };
      const scheme = { type: "oauth2", flows };
      Object.assign(d.components.securitySchemes, { websiteKey: scheme, fullKey: scheme });
    },
    ...operationIds.map((name) => `breaking authentication-changed ${name}` as const),
  ],
  [
    "OAuth 2 replaces one of the two keys",
    (d) => Object.assign(d.components.securitySchemes.websiteKey, { type: "openIdConnect" }),
    ...operationIds.map((name) => `breaking authentication-changed ${name}` as const),
  ],
  [
    "another version is in the paths",
    (d) => {
      d.servers = [];
      renamedPaths(d, (path) => `/api/v2${path}`);
    },
    "breaking base-path-changed servers",
  ],
  [
    "the signature header is removed",
    (d) => {
      for (const { post } of Object.values<AnyDocument>(d.webhooks)) post.parameters.pop();
    },
    ...eventTypes.map((type) => `breaking parameter-removed ${type} › Service-Signature` as const),
  ],
  [
    "the signature header has another name",
    (d) => Object.assign(d.components.parameters.ServiceSignature, { name: "Webhook-Signature" }),
    ...eventTypes.flatMap(
      (type) =>
        [
          `breaking parameter-removed ${type} › Service-Signature`,
          `compatible parameter-required ${type} › Webhook-Signature`,
        ] as const,
    ),
  ],
  [
    "a bearer token replaces the headers of deliveries",
    (d) => {
      for (const { post } of Object.values<AnyDocument>(d.webhooks)) {
        delete post.parameters;
        post.security = [{ websiteKey: [] }];
      }
    },
    ...eventTypes.flatMap((type) =>
      ["Event", "Delivery", "Signature"].map(
        (name) => `breaking parameter-removed ${type} › Service-${name}` as const,
      ),
    ),
  ],
  [
    "a header of a delivery becomes optional",
    (d) => Object.assign(d.components.parameters.ServiceDelivery, { required: false }),
    ...eventTypes.map((type) => `breaking parameter-optional ${type} › Service-Delivery` as const),
  ],
  [
    "the signature has another scheme",
    (d) => Object.assign(d.components.parameters.ServiceSignature, { example: "t=1767225600,v2=5f1c3c" }),
    ...eventTypes.map((type) => `breaking signature-changed ${type}` as const),
  ],
  [
    "the signature has a pattern of another scheme",
    (d) => {
      const { ServiceSignature } = d.components.parameters;
      ServiceSignature.schema.pattern = "^t=[0-9]+,v2=";
      delete ServiceSignature.example;
    },
    ...eventTypes.flatMap(
      (type) =>
        [
          `breaking signature-changed ${type}`,
          `compatible limit-tightened ${type} › Service-Signature`,
        ] as const,
    ),
  ],
  [
    "ids and emails have a format that the client's values have",
    (d) => {
      Object.assign(d.components.parameters.CardId.schema, { format: "uuid" });
      Object.assign(schemas(d).Customer.properties.email, { format: "email" });
    },
    ...["getCard", "listOperations", "getConsent", "setConsent"].map(
      (name) => `compatible format-expected ${name} › id` as const,
    ),
    "compatible format-expected Customer.email",
  ],
  [
    "a limit is in another part of allOf than the type",
    (d) => {
      const { Customer } = schemas(d);
      schemas(d).Customer = { allOf: [{ properties: { name: { maxLength: 5 } } }, Customer] };
    },
    "breaking limit-tightened Customer.name",
  ],
  [
    "a required request property has no schema",
    (d) => schemas(d).IssueCardRequest.required.push("locale"),
    "breaking required-property-added IssueCardRequest.locale",
  ],
  [
    "an object without properties requires one",
    (d) => {
      schemas(d).Customer = { type: "object", required: ["phone", "consents"] };
    },
    "breaking property-required Customer.phone",
  ],
  [
    "a card has alternatives",
    (d) => {
      schemas(d).ActiveCard = schemas(d).Card;
      schemas(d).BlockedCard = structuredClone(schemas(d).Card);
      schemas(d).BlockedCard.properties.reason = { type: "string" };
      schemas(d).Card = {
        oneOf: [{ $ref: "#/components/schemas/ActiveCard" }, { $ref: "#/components/schemas/BlockedCard" }],
      };
    },
    "breaking composition-changed Card",
  ],
  [
    "one webhook has one schema for all events, and an enum of their types",
    (d) =>
      oneWebhook(d, ({ mapping }) => ({
        type: "object",
        required: ["id", "type", "createdAt", "data"],
        properties: {
          id: { type: "string" },
          type: { type: "string", enum: Object.keys(mapping) },
          createdAt: { type: "string", format: "date-time" },
          data: { type: "object" },
        },
      })),
    "compatible property-required PingEvent.data",
    "compatible type-narrowed PingEvent.data",
  ],
  [
    "one webhook for all events lacks an event",
    (d) => oneWebhook(d, ({ schemas: all }) => ({ oneOf: all.slice(1) })),
    "breaking event-removed card.added",
  ],
  [
    "the list of operations has another wrapper",
    (d) =>
      Object.assign(schemas(d), {
        OperationList: {
          type: "object",
          required: ["data"],
          properties: { data: schemas(d).OperationList.properties.items, next: { type: "string" } },
        },
      }),
    "compatible list-wrapper-changed OperationList",
    "compatible property-added OperationList.next",
  ],
  [
    "the list of operations has a wrapper that the client does not support",
    (d) =>
      Object.assign(schemas(d), {
        OperationList: {
          type: "object",
          required: ["history"],
          properties: { history: schemas(d).OperationList.properties.items },
        },
      }),
    "breaking property-removed OperationList.items",
    "compatible required-property-added OperationList.history",
  ],
  ...patches.map(({ when, change, reports }): (typeof changes)[number] => [
    when,
    (document) => patch(document, change),
    ...[reports].flat(),
  ]),
];

describe("compareContracts", () => {
  const summary = ({ differences }: { differences: readonly Difference[] }) =>
    differences.map(({ severity, rule, place }) => `${severity} ${rule} ${place}`).sort();

  it.each(changes)(
    "classifies the difference and updates the contract when %s",
    async (_, change, ...expected) => {
      const plain = await drift(changed(change));
      expect(summary(plain)).toEqual([...expected].sort());
      expect(await drift(changed(change), plain.contract)).toMatchObject({
        differences: [],
        contract: plain.contract,
      });

      const other = changed((document) => {
        change(document);
        styles["a prefix in the paths"]?.(document);
        styles["other schema names"]?.(document);
        styles["no components.examples"]?.(document);
      });
      const otherwise = await drift(other);
      expect(summary(otherwise)).toEqual([...expected].sort());
      expect(await drift(other, otherwise.contract)).toMatchObject({ differences: [] });
    },
  );

  it("is tested with every rule", () => {
    const seen = changes.flatMap(([, , ...expected]) => expected.map((line) => line.split(" ")[1]));
    const missing = Object.keys(driftRules).filter((rule) => !seen.includes(rule));
    // The contract has no closed values: the next test adds them.
    expect(missing).toEqual(["values-added"]);
  });

  it("reports added and opened values, and a parameter that becomes optional", async () => {
    const contract = changed((document) => {
      document.components.parameters.Limit.required = true;
      schemas(document).ConsentChange.properties.version.enum = ["1"];
      schemas(document).ConsentState.properties.marketingConsent = { type: "string", enum: ["yes", "no"] };
      schemas(document).Problem.properties.title.enum = ["a"];
    });
    const served = structuredClone(contract);
    delete served.components.parameters.Limit.required;
    schemas(served).ConsentChange.properties.version.enum.push("2");
    schemas(served).ConsentState.properties.marketingConsent.enum = ["yes", "unknown"];
    delete schemas(served).Problem.properties.title.enum;
    expect(summary(await drift(served, contract))).toEqual([
      "breaking values-added ConsentState.marketingConsent",
      "breaking values-added Problem.title",
      "compatible parameter-optional listOperations › limit",
      "compatible values-added ConsentChange.version",
      "compatible values-removed ConsentState.marketingConsent",
    ]);
  });

  it("creates a second schema when two operations describe a card differently", async () => {
    const served = changed((document) => {
      const { Card } = schemas(document);
      const properties = { ...Card.properties, history: { type: "array", items: { type: "string" } } };
      schemas(document).CardDetails = { ...Card, properties };
      operation(document, "/passes/{id}").responses["200"].content["application/json"].schema.$ref +=
        "Details";
    });
    const result = await drift(served);
    expect(result.differences).toMatchObject([{ place: "Card.history", operations: ["getCard"] }]);
    const document: AnyDocument = result.contract;
    expect(schemas(document).Card).toEqual(openapi.components.schemas.Card);
    expect(Object.keys(schemas(document).GetCardCard.properties)).toContain("history");
    expect(await drift(served, result.contract)).toMatchObject({ differences: [] });
  });

  it("adopts the schemas that new properties refer to, without name collisions", async () => {
    const served = changed((document) => {
      styles["other schema names"]?.(document);
      const { ApiCardDto, ApiCustomerDto } = schemas(document);
      ApiCardDto.properties.owner = { $ref: "#/components/schemas/Customer" };
      ApiCardDto.properties.parent = { nullable: true, allOf: [{ $ref: "#/components/schemas/ApiCardDto" }] };
      ApiCustomerDto.properties.address = { $ref: "#/components/schemas/Address" };
      Object.assign(schemas(document), {
        Customer: { type: "object", properties: { address: { $ref: "#/components/schemas/Address" } } },
        Address: {
          type: "object",
          properties: { within: { $ref: "#/components/schemas/Address" }, street: { type: "string" } },
        },
      });
    });
    const { contract } = await drift(served);
    const { Card, Customer, ServiceCustomer, Address } = schemas(contract);
    expect(Card.properties.owner.$ref).toBe("#/components/schemas/ServiceCustomer");
    expect(Card.properties.parent.anyOf[0].$ref).toBe("#/components/schemas/Card");
    for (const { properties } of [Customer, ServiceCustomer]) {
      expect(properties.address.$ref).toBe("#/components/schemas/Address");
    }
    expect(Address.properties.within.$ref).toBe("#/components/schemas/Address");
    expect(JSON.stringify(contract)).not.toMatch(/Dto|served:/);
    expect(await drift(served, contract)).toMatchObject({ differences: [] });
  });
});

describe("updating the files from a service", () => {
  const served = changed((document) => {
    for (const name of [
      "no documentation, x- properties or operation ids",
      "no components.examples",
      "no webhooks",
    ]) {
      styles[name]?.(document);
    }
    schemas(document).Card.properties.expiresAt = { type: "string", format: "date-time" };
    schemas(document).Card.required.push("expiresAt");
    operation(document, "/passes/{id}").responses["403"] = { description: "Not allowed." };
    styles["a prefix in the paths"]?.(document);
    styles["other parameter names"] &&
      Object.assign(document.components.parameters.CardId, { name: "cardId" });
    renamedPaths(document, (path) => path.replace("{id}", "{cardId}"));
    styles["other schema names"]?.(document);
  });

  it("preserves comments, order and unchanged lines of openapi.yaml, and the names that programs import", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    const url = await serving(served);
    const { code, lines } = await run(folder, "--from", url);
    expect(code).toBe(0);
    expect(lines).toEqual([
      "compatible  Card.expiresAt: a required property is added (issueCard, getCard)",
      expect.stringContaining("required-property-added: "),
      "compatible  getCard › 403: the status 403 is added (getCard)",
      expect.stringContaining("status-added: "),
      "note        The served document describes no webhooks; the contract keeps its own.",
      "2 differences: 0 breaking, 2 compatible.",
      ...["openapi.yaml", "generated/schema.ts", "generated/types.ts", "generated/openapi.json"].map(
        (name) => `wrote openapi/${name}`,
      ),
      "wrote packages/contract/openapi.json",
    ]);

    const after = readFiles(folder);
    const getLines = (files: Record<string, string>, name: string) =>
      (files[join(folder, name)] ?? "").split("\n");
    for (const name of ["openapi.yaml", "generated/schema.ts"]) {
      const kept = getLines(after, name);
      const own = getLines(before, name);
      // Each line is found, in the same order.
      let at = -1;
      const lost = own.filter((line) => {
        const next = kept.indexOf(line, at + 1);
        if (next >= 0) at = next;
        return next < 0;
      });
      expect(lost, name).toEqual(
        name === "generated/schema.ts" ? [] : [expect.stringContaining("required: [id, publicUrl")],
      );
      expect(kept.length - own.length, name).toBeLessThan(30);
    }
    expect(after[join(folder, "generated/schema.ts")]).toMatch(/expiresAt: string;/);
    expect(parse(after[join(folder, "openapi.yaml")] ?? "").webhooks).toEqual(openapi.webhooks);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);

    expect(await run(folder, "--from", url, "--check")).toMatchObject({ code: 0 });
    expect(await run(folder, "--check")).toEqual({ code: 0, lines: [] });
  });

  it("adopts a card with alternatives, and leaves the events of one webhook as they are", async () => {
    const folder = copyFolder();
    const url = await serving(
      changed((document) => {
        const { Card } = schemas(document);
        schemas(document).ActiveCard = structuredClone(Card);
        schemas(document).BlockedCard = structuredClone(Card);
        schemas(document).BlockedCard.properties.reason = { type: "string" };
        schemas(document).Card = {
          oneOf: ["ActiveCard", "BlockedCard"].map((name) => ({ $ref: `#/components/schemas/${name}` })),
        };
        styles["one webhook with `oneOf` for all events"]?.(document);
      }),
    );
    expect(await run(folder, "--from", url)).toMatchObject({ code: 0 });
    const contract = parse(readFileSync(join(folder, "openapi.yaml"), "utf8"));
    expect(schemas(contract).Card.oneOf).toHaveLength(2);
    expect(schemas(contract).BlockedCard.properties.reason).toEqual({ type: "string" });
    expect(contract.webhooks).toEqual(openapi.webhooks);
    expect(await run(folder, "--from", url, "--check")).toMatchObject({ code: 0 });
  });

  it("changes one place of a YAML alias without changing the others", async () => {
    const folder = copyFolder();
    const url = await serving(
      changed((document) => {
        schemas(document).PingEvent.properties.id.maxLength = 36;
      }),
    );
    await run(folder, "--from", url);
    const yaml = readFileSync(join(folder, "openapi.yaml"), "utf8");
    expect(schemas(parse(yaml)).PingEvent.properties.id.maxLength).toBe(36);
    expect(schemas(parse(yaml)).CardAddedEvent).toEqual(openapi.components.schemas.CardAddedEvent);
    expect(yaml.startsWith("# The contract of the service")).toBe(true);
  });

  it("prints the report of docs/assumptions.md, writes nothing and returns 1 with --check", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    const breaking = changed((document) => {
      delete document.webhooks;
      schemas(document).Customer.required.push("phone");
      schemas(document).Card.properties.expiresAt = { type: "string" };
    });
    const { code, lines } = await run(folder, "--check", "--from", await serving(breaking));
    expect(code).toBe(1);
    expect(readFileSync(join(repository, "docs/assumptions.md"), "utf8")).toContain(lines.join("\n"));
    expect(readFiles(folder)).toEqual(before);
  });
});

describe("no file is changed", () => {
  const withProperty = (schema: object) =>
    changed((document) => Object.assign(schemas(document).Card.properties, { extra: schema }));

  it.each([
    [
      "a schema that cannot be compiled",
      withProperty({ type: "string", pattern: "(" }),
      /pattern|regular expression/i,
    ],
    ["a type that does not exist", withProperty({ type: "text" }), /type/],
    [
      "a reference to another document",
      withProperty({ $ref: "https://example.com/a.json" }),
      /references within the document/,
    ],
    [
      "a reference without a target",
      withProperty({ $ref: "#/components/schemas/Nothing" }),
      /which it does not have/,
    ],
    [
      "a reference that is not percent-encoded",
      withProperty({ $ref: "#/components/schemas/%zz" }),
      /refers to "#\/components\/schemas\/%zz"\. .*two hex digits/,
    ],
    [
      "an alias of itself",
      changed((document) => {
        schemas(document).Alias = { $ref: "#/components/schemas/Alias" };
        schemas(document).Card.properties.extra = { $ref: "#/components/schemas/Alias" };
      }),
      /leads to itself/,
    ],
    [
      "a new property with more values than can be adopted",
      withProperty({ type: "string", enum: Array.from({ length: 30_000 }, (_, index) => `${index}`) }),
      /needs more than 500,000 steps/,
    ],
    [
      "no event of the contract",
      changed((document) => {
        document.webhooks = { "shop.opened": document.webhooks.ping };
        schemas(document).PingEvent.properties.type = { const: "shop.opened" };
      }),
      /has none of the events/,
    ],
    ["an HTML page", "<html>", /is not an OpenAPI 3 document/],
    ["a document of version 2", { swagger: "2.0" }, /is not an OpenAPI 3 document/],
    [
      "another service's document",
      { openapi: "3.0.0", paths: { "/pets": { get: {} } } },
      /has none of the operations/,
    ],
  ])("when the service responds with %s", async (_, document, message) => {
    const folder = copyFolder();
    const before = readFiles(folder);
    await expect(run(folder, "--from", await serving(document))).rejects.toThrow(message);
    expect(readFiles(folder)).toEqual(before);
  });

  it("when one file cannot be written", async () => {
    const folder = copyFolder();
    rmSync(join(folder, "generated/openapi.json"));
    mkdirSync(join(folder, "generated/openapi.json/folder"), { recursive: true });
    const before = readFiles(folder);
    await expect(run(folder, "--from", await serving(withProperty({ type: "string" })))).rejects.toThrow(
      /EISDIR|directory/,
    );
    expect(readFiles(folder)).toEqual(before);
  });

  it("when the process is killed during generation", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    let kill = () => {};
    const url = await serving(withProperty({ type: "string" }), 200, () => kill());
    const { child, ended } = command(
      folder,
      process.execPath,
      "--import",
      "tsx",
      "tools/generate/generate.ts",
      "--from",
      url,
    );
    kill = () => void child.kill("SIGKILL");
    expect((await ended).code).toBeNull();
    expect(readFiles(folder)).toEqual(before);
  });

  it.each([
    ["a --from that is not a URL", ["--from", "cards"], /is not a URL/],
    ["a service that does not respond", ["--from", "http://127.0.0.1:1"], /does not respond/],
    ["an unknown option", ["--form", "x"], /--form/],
  ])("with %s", async (_, args, message) => {
    await expect(run(home, ...args)).rejects.toThrow(message);
  });

  it("when `npm run generate -- --from` gets an error status, and it exits with 2 and a message", async () => {
    const folder = copyFolder();
    const before = readFiles(folder);
    const from = await serving("", 500);
    const { code, stdout, stderr } = await command(
      folder,
      "npm",
      "run",
      "--silent",
      "generate",
      "--",
      "--from",
      from,
    ).ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/responded 500.*Nothing was changed\./);
    expect(readFiles(folder)).toEqual(before);
  });
});
