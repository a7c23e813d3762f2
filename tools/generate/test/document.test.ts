/**
 * The OpenAPI document is consistent: its examples match its schemas, and its assumptions match
 * docs/assumptions.md.
 */
import { readFileSync } from "node:fs";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, it } from "vitest";
import { type Json, listOperations, recordIn, resolved } from "../document.ts";

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: "document", ...openapi });

/** Every object of the document, with its JSON Pointer. */
function* objectsIn(value: unknown, where = "#"): Generator<{ where: string; node: Json }> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { where, node: value as Json };
  for (const [key, member] of Object.entries(value))
    yield* objectsIn(member, `${where}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
}

const all = [...objectsIn(openapi)];
const bodies = all.filter(({ node }) => "schema" in node && "examples" in node);

it("has examples for all content", () => {
  const contents = all.filter(({ where }) => where.endsWith("/content"));
  expect(bodies.length).toBeGreaterThan(20);
  expect(bodies).toHaveLength(contents.flatMap(({ node }) => Object.keys(node)).length);
});

it.each(bodies)("has examples that match the schema of $where", ({ where, node }) => {
  const check = ajv.getSchema(`document${where}/schema`);
  for (const example of Object.values(node["examples"] as Json))
    expect([check?.(resolved(openapi, example)["value"]), check?.errors]).toEqual([true, null]);
});

it("has examples of problems with the status of their response", () => {
  for (const { operation } of listOperations(openapi)) {
    for (const [status, response] of Object.entries(recordIn(operation, "responses"))) {
      const problem = recordIn(
        recordIn(resolved(openapi, response), "content"),
        "application/problem+json",
      );
      for (const example of Object.values(recordIn(problem, "examples")))
        expect(String(recordIn(resolved(openapi, example), "value")["status"])).toMatch(
          new RegExp(`^${status.replace("XX", "\\d\\d")}$`),
        );
    }
  }
});

it("has a server whose URL needs no variables, which some tools do not support", () => {
  expect(openapi.servers).toEqual([
    { url: "http://127.0.0.1:4010/api/v1", description: expect.any(String) },
  ]);
});

it("describes every schema and every property", () => {
  for (const { where, node } of all) {
    if (/\/(schemas|properties)\/\w+$/.test(where) && node["$ref"] === undefined)
      expect(node["description"], where).toBeTypeOf("string");
  }
});

it("marks exactly the assumptions that docs/assumptions.md explains", () => {
  const marked = new Set(
    all.flatMap(({ node }) => [node["x-assumption"] ?? []].flat() as string[]),
  );
  const page = readFileSync(new URL("../../../docs/assumptions.md", import.meta.url), "utf8");
  const explained = [...page.matchAll(/^### ([\w-]+)$/gm)].map(([, name]) => name);
  expect([...marked].sort()).toEqual([...explained].sort());
});
