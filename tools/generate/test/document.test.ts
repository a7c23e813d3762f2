/** The OpenAPI document is consistent: its examples match its schemas, and its assumptions match docs/assumptions.md. */
import { readFileSync } from "node:fs";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: "document", ...openapi });

interface Found {
  where: string;
  node: Record<string, unknown>;
}

/** Every object of the document, with its JSON Pointer. */
function* objectsIn(value: unknown, where = "#"): Generator<Found> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { where, node: value as Record<string, unknown> };
  for (const [key, property] of Object.entries(value)) {
    yield* objectsIn(property, `${where}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

const all = [...objectsIn(openapi)];
const resolved = (node: unknown): unknown => {
  const reference = (node as { $ref?: string }).$ref;
  if (reference === undefined) return node;
  return reference
    .slice(2)
    .split("/")
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], openapi);
};

describe("the examples", () => {
  const contents = all.flatMap(({ where, node }) =>
    where.endsWith("/content")
      ? Object.values(node).map((media) => ({
          where,
          ...(media as { schema: { $ref: string }; examples: object }),
        }))
      : [],
  );
  it("exist for all content", () => {
    expect(contents.length).toBeGreaterThan(20);
    for (const { where, examples } of contents) expect(Object.keys(examples ?? {}), where).not.toEqual([]);
  });

  it.each(contents)("match the schema of $where", ({ schema, examples }) => {
    const check = ajv.getSchema(`document${schema.$ref}`);
    for (const example of Object.values(examples)) {
      expect(check?.((resolved(example) as { value: unknown }).value), ajv.errorsText(check?.errors)).toBe(
        true,
      );
    }
  });
});

it("has examples of problems with the status of their response", () => {
  for (const operations of Object.values(openapi.paths)) {
    for (const [, operation] of Object.entries(operations)) {
      for (const [status, response] of Object.entries((operation as { responses: object }).responses)) {
        const { content } = resolved(response) as { content?: Record<string, { examples: object }> };
        for (const example of Object.values(content?.["application/problem+json"]?.examples ?? {})) {
          const { value } = resolved(example) as { value: { status: number } };
          expect(String(value.status)).toMatch(new RegExp(`^${status.replace("XX", "\\d\\d")}$`));
        }
      }
    }
  }
});

it("has a server whose URL needs no variables, because some generators and validators do not support them", () => {
  expect(openapi.servers).toEqual([{ url: "http://127.0.0.1:4010/api/v1", description: expect.any(String) }]);
});

it("describes every schema and every property", () => {
  for (const { where, node } of all.filter((found) =>
    /\/schemas\/\w+$|\/properties\/\w+$/.test(found.where),
  )) {
    if (node["$ref"] === undefined) expect(node["description"], where).toBeTypeOf("string");
  }
});

it("marks exactly the assumptions that docs/assumptions.md explains", () => {
  const marked = new Set(all.flatMap(({ node }) => [node["x-assumption"] ?? []].flat() as string[]));
  const page = readFileSync(new URL("../../../docs/assumptions.md", import.meta.url), "utf8");
  const explained = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
  expect([...marked].sort()).toEqual([...explained].sort());
});
