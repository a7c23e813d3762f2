/** The files of the package agree with the OpenAPI document and with the mock service: schemas, vectors and requests. */
import { readFileSync } from "node:fs";
import { createMockService, type MockService } from "@loyalty-cards/mock-server";
import source from "@loyalty-cards/openapi/vectors" with { type: "json" };
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import openapi from "../openapi.json" with { type: "json" };
import postman from "../postman.json" with { type: "json" };
import signatures from "../signatures.json" with { type: "json" };

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const types = Object.keys(openapi.webhooks);

/** As a user compiles it: each schema alone, in the strict mode of the validator. */
function compile(type: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(JSON.parse(read(`events/${type}.json`)));
}
const validators = new Map(types.map((type) => [type, compile(type)]));

interface Event {
  id: string;
  type: string;
  createdAt: string;
  data?: Record<string, unknown>;
}

/** Throws unless the schema of this type accepts the event. */
function expectValid(type: string, event: unknown): void {
  const validate = validators.get(type);
  expect([validate?.(event), validate?.errors], JSON.stringify(event)).toEqual([true, null]);
}

const toExample = (type: string) => JSON.parse(read(`events/${type}.json`)).examples[0] as Event;

describe.each(types)("the schema of %s", (type) => {
  const schema = JSON.parse(read(`events/${type}.json`));

  it("is a self-contained JSON Schema of draft 2020-12 with its own identifier", () => {
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(schema.$id).toBe(`https://loyalty-cards.github.io/loyalty-cards/contract/events/${type}.json`);
    const text = JSON.stringify(schema);
    for (const [, reference] of text.matchAll(/"\$ref":"([^"]*)"/g))
      expect(reference).toMatch(/^#\/\$defs\//);
    expect(text).not.toContain('"x-');
  });

  it("accepts the example of the OpenAPI document, and no example of another event", () => {
    for (const other of types) {
      expect([other, validators.get(type)?.(toExample(other))]).toEqual([other, other === type]);
    }
  });

  it("accepts members that a later version of the service adds", () => {
    const event = toExample(type);
    expectValid(type, { ...event, shop: "Praga", data: { ...event.data, bonus: [1] } });
  });

  it("rejects an event without a required member, or with a member of another type", () => {
    const event = toExample(type);
    const changes: object[] = [
      ...["id", "type", "createdAt"].flatMap((name) => [
        { [name]: undefined },
        { [name]: 7 },
        { [name]: null },
      ]),
      { id: "" },
      { id: "x".repeat(513) },
      { createdAt: "yesterday" },
    ];
    const required: string[] = (
      schema.properties.data.$ref ? schema.$defs.WalletChange : schema.properties.data
    ).required;
    for (const name of required ?? []) {
      changes.push(
        { data: { ...event.data, [name]: undefined } },
        { data: { ...event.data, [name]: [null] } },
      );
    }
    if (required !== undefined) changes.push({ data: undefined }, { data: [] });
    for (const change of changes) {
      const changed = JSON.parse(JSON.stringify({ ...event, ...change }));
      expect([change, validators.get(type)?.(changed)]).toEqual([change, false]);
    }
  });
});

/** A request of a collection, with its variables such as `{{cardId}}`. */
interface CollectionRequest {
  name: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** The status that the collection documents. */
  status: number;
}

interface Collection {
  variables: Record<string, string>;
  requests: CollectionRequest[];
}

/** Reads the syntax that REST Client and the JetBrains IDEs share. */
function readHttpFile(): Collection {
  const [head = "", ...parts] = read("requests.http").split(/^###.*\n/m);
  const requests = parts.map((part) => {
    const [top = "", ...paragraphs] = part.trim().split("\n\n");
    const lines = top.split("\n");
    const [start = "", ...headers] = lines.filter((line) => !line.startsWith("#"));
    const [method = "", url = ""] = start.split(" ");
    return {
      name: /^# @name (\w+)$/m.exec(top)?.[1] ?? "",
      method,
      url,
      headers: Object.fromEntries(headers.map((line) => line.split(": ") as [string, string])),
      body: paragraphs.length === 0 ? undefined : paragraphs.join("\n\n"),
      status: Number(/^# Responds (\d+)\.$/m.exec(top)?.[1]),
    };
  });
  return {
    variables: Object.fromEntries(
      [...head.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
    ),
    requests,
  };
}

function readPostman(): Collection {
  const [token] = postman.auth.bearer;
  return {
    variables: Object.fromEntries(postman.variable.map(({ key, value }) => [key, value])),
    requests: postman.item
      .flatMap(({ item }) => item)
      .map(({ name, request, response: [first] }) => ({
        name,
        method: request.method,
        url: request.url.raw,
        headers: {
          [postman.auth.type === "bearer" ? "authorization" : ""]: `Bearer ${token?.value}`,
          ...Object.fromEntries(request.header.map(({ key, value }) => [key, value])),
        },
        body: "body" in request ? request.body?.raw : undefined,
        status: first?.code ?? 0,
      })),
  };
}

/** Sends the requests in their order, as a person does: sets the variables, and `cardId` after the first response. */
async function run(service: MockService, { variables, requests }: Collection) {
  const values = new Map(
    Object.entries({
      ...variables,
      baseUrl: service.baseUrl,
      apiKey: service.apiKeys.website,
      templateId: service.templateId,
    }),
  );
  const fill = (text: string) =>
    text.replace(/\{\{(\w+)\}\}/g, (_whole, name: string) => {
      const value = values.get(name);
      if (value === undefined) throw new Error(`The collection has no variable ${name}.`);
      return value;
    });
  const results: { name: string; status: number; documented: number; body: Record<string, unknown> }[] = [];
  for (const { name, method, url, headers, body, status: documented } of requests) {
    const response = await service.fetch(
      new Request(fill(url), {
        method,
        headers: Object.entries(headers).map(([key, value]): [string, string] => [key, fill(value)]),
        ...(body !== undefined && { body: fill(body) }),
      }),
    );
    const received = (await response.json()) as Record<string, unknown>;
    if (results.length === 0) values.set("cardId", String(received.id));
    results.push({ name, status: response.status, documented, body: received });
  }
  return results;
}

describe.each([
  ["requests.http", readHttpFile],
  ["postman.json", readPostman],
])("%s", (_name, readCollection) => {
  it("has a request for every operation, and each gets the documented status from the mock service", async () => {
    const results = await run(createMockService(), readCollection());
    const documented = Object.values(openapi.paths)
      .flatMap((path) => Object.values(path) as { summary: string; responses: object }[])
      .map(({ responses }) => Number(Object.keys(responses).find((status) => status.startsWith("2"))));
    expect(results.map(({ status }) => status)).toEqual(documented);
    expect(results.map((result) => result.documented)).toEqual(documented);
  });

  it("issues no second card when the first request is repeated", async () => {
    const service = createMockService();
    const [first] = await run(service, readCollection());
    const [second] = await run(service, readCollection());
    expect(second?.body["id"]).toBe(first?.body["id"]);
  });

  it("contains a placeholder instead of an API key", () => {
    expect(readCollection().variables["apiKey"]).toBe("YOUR_API_KEY");
  });
});

it("the Postman collection has an example of every documented response", () => {
  for (const { request, response } of postman.item.flatMap(({ item }) => item)) {
    expect(response.map(({ code }) => code)).toEqual(expect.arrayContaining([401, 404, 429, 500, 503]));
    for (const { originalRequest, body } of response) {
      expect(originalRequest).toEqual(request);
      expect(JSON.parse(body)).toBeTypeOf("object");
    }
  }
});

/** Only the change of the consent, which then is withdrawn. */
const withdrawConsent = ({ variables, requests }: Collection, cardId: string): Collection => ({
  variables: { ...variables, cardId },
  requests: requests
    .filter(({ name }) => name === "setConsent")
    .map((request) => ({ ...request, body: JSON.stringify({ marketing: false }) })),
});

it("every event that the mock service sends is valid under its schema", async () => {
  const received: Event[] = [];
  const service = createMockService({
    deliver: async (request) => {
      received.push((await request.json()) as Event);
      return new Response(null, { status: 204 });
    },
  });
  const url = "https://shop.test/webhooks";
  const { id: endpoint } = service.webhooks.createEndpoint({ url, events: types as never });
  const [issued] = await run(service, readHttpFile());
  const id = String(issued?.body["id"]);
  service.cards.purchase(id, { points: 120 });
  service.cards.addToWallet(id, "apple");
  service.cards.removeFromWallet(id, "apple");
  await run(service, withdrawConsent(readHttpFile(), id));
  service.webhooks.sendTest(endpoint);
  await service.idle();
  expect(new Set(received.map(({ type }) => type))).toEqual(new Set(types));
  for (const event of received) expectValid(event.type, event);
});

describe("signatures.json", () => {
  const { version, vectors } = signatures as { version: number; vectors: Record<string, unknown>[] };

  it("has version 1 of the format, in which every vector has every member", () => {
    expect(version).toBe(1);
    const text = expect.any(String);
    const base64 = expect.stringMatching(/^[\w+/]*={0,2}$/);
    for (const vector of vectors) {
      const { verdict, reason, ...rest } = vector;
      expect(rest).toEqual({
        name: text,
        body: base64,
        secrets: expect.toSatisfy((all: unknown[]) => all.length > 0),
        header: expect.any(Array),
        nowSeconds: expect.any(Number),
        toleranceSeconds: expect.any(Number),
      });
      expect([verdict, typeof reason]).toEqual(
        verdict === "valid" ? ["valid", "undefined"] : ["invalid", "string"],
      );
    }
  });

  it("has every vector of the sources, with the same verdict", () => {
    expect(vectors.map(({ name, reason }) => [name, reason ?? "valid"])).toEqual(
      source.map(({ name, verdict }) => [name, verdict]),
    );
    expect(vectors.length).toBeGreaterThan(300);
  });
});
