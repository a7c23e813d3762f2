/** Documents that would exhaust memory or time: the reader limits their size, depth and values, and the comparison counts its steps. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { describe, expect, it, onTestFinished } from "vitest";
import type { Json } from "../../src/drift/document.ts";
import { documentLimits, fetchDocument } from "../../src/drift/document-reader.ts";
import { compareContracts } from "../../src/drift/drift.ts";
import { Work, workLimits } from "../../src/drift/work.ts";

// biome-ignore lint/suspicious/noExplicitAny: hostile documents can have any shape.
type AnyDocument = any;

/** Starts a service that responds in its own way at /api/docs/json. */
async function serving(respond: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => respond(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("fetchDocument", () => {
  const { maxBytes, maxDepth, maxValues } = documentLimits;
  const servingText = (text: string | Uint8Array) => serving((response) => response.end(text));
  const spaces = (size: number) => `{"openapi":"3.1.0"}${" ".repeat(size - 19)}`;
  const nested = (depth: number) => `{"x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  const list = (values: number) => `{"x":[1${",1".repeat(values - 2)}]}`;

  it.each([
    ["size", spaces(maxBytes), spaces(maxBytes + 1), "is larger than 16 MiB, the limit for a document."],
    ["depth", nested(maxDepth), nested(maxDepth + 1), "is nested more than 200 levels deep."],
    [
      "number of values",
      list(maxValues),
      list(maxValues + 1),
      "has more than 500,000 values, the limit for a document.",
    ],
  ])(
    "accepts a document at the limit of its %s, and names the limit above it",
    async (_, largest, larger, message) => {
      expect(await fetchDocument(await servingText(largest))).toBeTypeOf("object");
      const url = await servingText(larger);
      const outcome = fetchDocument(url).then(() => "accepted");
      await expect(outcome).rejects.toThrow(`${url}/api/docs/json ${message}`);
    },
  );

  it("counts brackets and commas of texts as text", async () => {
    const text = `"${'[{,\\"'.repeat(maxValues)}"`;
    expect(await fetchDocument(await servingText(`{"x":${text}}`))).toEqual({ x: JSON.parse(text) });
  });

  it.each([
    ["gzip", gzipSync],
    [
      "br",
      (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    ],
    ["gzip, gzip", (bytes: Uint8Array) => gzipSync(gzipSync(bytes))],
  ])("stops decompressing at the limit (%s)", async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(64 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(1024 * 1024);
    const url = await serving((response) =>
      response.writeHead(200, { "content-encoding": encoding }).end(bomb),
    );
    await expect(fetchDocument(url)).rejects.toThrow("is larger than 16 MiB");
  });

  it.each([
    ["is unfinished", '{"openapi":'],
    ["is only opening brackets", "[".repeat(1000)],
    ["is only closing brackets", "]".repeat(1000)],
    ["is not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["is a list", "[]"],
    ["is empty", ""],
  ])("says that a body that %s is not a document", async (_, body) => {
    const message = /is not an OpenAPI 3 document\.|levels deep/;
    await expect(fetchDocument(await servingText(body))).rejects.toThrow(message);
  });

  it("says when the service stops in the middle of the document", async () => {
    const url = await serving((response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("{", () => response.destroy());
    });
    await expect(fetchDocument(url)).rejects.toThrow("does not respond: ");
  });

  it("does not wait longer than the timeout for the rest of the document", async () => {
    const url = await serving((response) => void response.writeHead(200).write("{"));
    await expect(fetchDocument(url, { timeoutMs: 100 })).rejects.toThrow("does not respond: ");
  });
});

/** The steps of a comparison that succeeds, or the message of the one that does not. */
function compare(change: (document: AnyDocument, schemas: AnyDocument) => void): {
  steps: number;
  message: string;
} {
  const document: AnyDocument = structuredClone(openapi);
  change(document, document.components.schemas);
  const work = new Work();
  let message = "";
  try {
    // As a service sends it: a property can be named __proto__.
    const { contract } = compareContracts(openapi, JSON.parse(JSON.stringify(document)), work);
    expect(contract).toBeTypeOf("object");
  } catch (error) {
    expect((error as Error).name).toBe("UnusableDocumentError");
    message = (error as Error).message;
  }
  return { steps: work.steps, message };
}

const referTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Adds the schemas A0 to A<count>; each one contains the next. */
function addChain(schemas: AnyDocument, count: number, contain: (next: object) => object): void {
  for (let index = 0; index < count; index++) schemas[`A${index}`] = contain(referTo(`A${index + 1}`));
  schemas[`A${count}`] = { type: "object", properties: { x: { type: "string" } } };
}

describe("compareContracts", () => {
  const tooManySteps =
    "The document needs more than 500,000 steps of comparison. Its schemas are too large, or refer to each other too often.";

  it("needs a hundredth of the permitted steps for the contract itself", () => {
    const { steps, message } = compare(() => {});
    expect(message).toBe("");
    expect(steps).toBeLessThan(workLimits.maxSteps / 100);
  });

  it.each<[string, (document: AnyDocument, schemas: AnyDocument) => void]>([
    [
      "30 doubled allOf",
      (_, schemas) => {
        addChain(schemas, 30, (next) => ({ allOf: [next, next] }));
        schemas.Card = { allOf: [schemas.Card, referTo("A0")] };
      },
    ],
    [
      "30 doubled oneOf",
      (_, schemas) => {
        addChain(schemas, 30, (next) => ({ oneOf: [next, next] }));
        schemas.Card.properties.id = referTo("A0");
      },
    ],
    [
      "30 doubled properties in an alternative",
      (_, schemas) => {
        addChain(schemas, 30, (next) => ({ type: "object", properties: { a: next, b: next } }));
        schemas.ConsentState.properties.customer = { oneOf: [referTo("A0"), { type: "string" }] };
      },
    ],
    [
      "30 doubled oneOf in the body of a webhook",
      (document, schemas) => {
        addChain(schemas, 30, (next) => ({ oneOf: [next, next] }));
        document.webhooks.ping.post.requestBody.content["application/json"].schema = referTo("A0");
        document.webhooks = { events: document.webhooks.ping };
      },
    ],
    [
      "an allOf of 1,000 schemas with 1,000 properties each",
      (_, schemas) => {
        const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, {}]));
        schemas.Large = { properties };
        schemas.Card = { allOf: Array(1000).fill(referTo("Large")) };
      },
    ],
    [
      "300,000 properties",
      (_, schemas) => {
        for (let index = 0; index < 300_000; index++) schemas.Card.properties[`p${index}`] = 1;
      },
    ],
  ])("stops after the permitted number of steps with %s", (_, change) => {
    const { steps, message } = compare(change);
    expect(message).toBe(tooManySteps);
    expect(steps).toBeLessThan(workLimits.maxSteps * 2);
  });

  it.each<[string, (document: AnyDocument, schemas: AnyDocument) => void, string]>([
    [
      "a chain of 100,000 allOf",
      (_, schemas) => {
        addChain(schemas, 100_000, (next) => ({ allOf: [next] }));
        schemas.Card.properties.id = referTo("A0");
      },
      "The schemas of the document are nested more than 200 levels deep.",
    ],
    [
      "a chain of 100,000 references",
      (_, schemas) => {
        addChain(schemas, 100_000, (next) => next);
        schemas.Card.properties.id = referTo("A0");
      },
      "The schemas of the document are nested more than 200 levels deep.",
    ],
    [
      "a schema that is itself",
      (_, schemas) => {
        schemas.Card = { allOf: [referTo("Card")] };
      },
      'The reference "#/components/schemas/Card" leads to itself.',
    ],
    [
      "a parameter that is itself",
      ({ components }) => {
        components.parameters.CardId = { $ref: "#/components/parameters/CardId" };
      },
      'The reference "#/components/parameters/CardId" leads to itself, or through more than 20 others.',
    ],
    [
      "a reference to nothing",
      (_, schemas) => {
        schemas.Card = referTo("__proto__");
      },
      'The document refers to "#/components/schemas/__proto__", which it does not have.',
    ],
    [
      "a reference that is not percent-encoded",
      (_, schemas) => {
        schemas.Card = referTo("%zz");
      },
      'The document refers to "#/components/schemas/%zz". A reference has at most 1000 characters, and "%" only before two hex digits.',
    ],
    [
      "a reference with control characters",
      (_, schemas) => {
        schemas.Card = referTo("\u001b]52;c;x\u0007\u009b");
      },
      String.raw`The document refers to "#/components/schemas/\u001b]52;c;x\u0007\u009b", which it does not have.`,
    ],
    [
      "more than 1,000 differences",
      (_, schemas) => {
        for (let index = 0; index < 1001; index++) schemas.Card.properties[`p${index}`] = {};
      },
      "The document has more than 1000 differences. Is this the address of a Loyalty Card Issuing Service?",
    ],
  ])("says what is wrong with %s", (_, change, message) => {
    expect(compare(change)).toEqual({ steps: expect.any(Number), message });
  });

  it.each([
    ["200,000 braces", `/${"{".repeat(200_000)}`],
    ["200,000 slashes and a letter", `${"/".repeat(200_000)}x`],
    ["200,000 parameters", "/{}".repeat(200_000)],
  ])("takes no more steps for a path of %s than for another path", (_, path) => {
    const add = (name: string) => compare(({ paths }) => (paths[name] = { get: { responses: {} } }));
    expect(add(path)).toEqual(add("/other"));
  });

  it("compares a schema that contains itself", () => {
    const { message } = compare((_, schemas) => {
      schemas.Card.properties.parent = referTo("Card");
      schemas.Operation.properties.undone = { oneOf: [referTo("Operation"), referTo("Card")] };
    });
    expect(message).toBe("");
  });

  it("compares names of the prototype like others", () => {
    const text = JSON.stringify(openapi)
      .replace(
        '"properties":{"id"',
        '"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"id"',
      )
      .replace('"security":[', '"security":[{"constructor":[]},{"__proto__":[]},');
    const { differences, contract } = compareContracts(openapi as Json, JSON.parse(text));
    expect(differences.map(({ rule, place }) => `${rule} ${place}`)).toEqual([
      "property-added Card.__proto__",
      "property-added Card.constructor",
    ]);
    expect(Object.keys((contract as AnyDocument).components.schemas.Card.properties)).toContain("__proto__");
  });
});
