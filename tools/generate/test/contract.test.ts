/**
 * The files of `@loyalty-cards/contract` agree with the OpenAPI document and with the mock service:
 * schemas and vectors.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { receiveEveryEvent } from "@loyalty-cards/testing/mock-shop";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, describe, expect, it } from "vitest";
import { writeContract } from "../contract.ts";

const folder = mkdtempSync(join(tmpdir(), "contract-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeContract(folder);
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const types = Object.keys(openapi.webhooks);

/** As a user compiles it: each schema alone, in the strict mode of the validator. */
function compile(type: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(read(`events/${type}.json`));
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

const toExample = (type: string) => read(`events/${type}.json`).examples[0] as Event;

describe.each(types)("the schema of %s", (type) => {
  const schema = read(`events/${type}.json`);

  it("is a self-contained JSON Schema of draft 2020-12 with its own identifier", () => {
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(schema.$id).toBe(
      `https://loyalty-cards.github.io/loyalty-cards/contract/events/${type}.json`,
    );
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

it("every event that the mock service sends is valid under its schema", async () => {
  const received = await receiveEveryEvent();
  expect(new Set(received.map(({ type }) => type))).toEqual(new Set(types));
  for (const event of received) expectValid(event.type, event);
});

describe("signatures.json", () => {
  const { version, vectors } = read("signatures.json") as {
    version: number;
    vectors: Record<string, unknown>[];
  };

  it("has version 1 of the format, in which every vector has every member", () => {
    expect(version).toBe(1);
    const text = expect.any(String);
    expect(vectors.length).toBeGreaterThan(80);
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
});
