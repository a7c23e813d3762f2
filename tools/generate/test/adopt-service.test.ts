/** `npm run generate -- --from`: documents of the same service in other styles change nothing, differences are adopted and named, hostile documents are refused. */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import { adoptService } from "../adopt-service.ts";
import { changesBetween, formatChange } from "../yaml-patch.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of other services can have any shape.
type AnyDocument = any;

type Change = (schemas: AnyDocument, document: AnyDocument) => void;

/** A changed copy of our document, as a service sends it: a member can be named `__proto__`. */
function changed(change: Change, edit = (text: string) => text): AnyDocument {
  const document: AnyDocument = structuredClone(openapi);
  change(document.components.schemas, document);
  return JSON.parse(edit(JSON.stringify(document)));
}

/** What is printed, and our document afterwards. */
function adopt(served: AnyDocument, own: object = openapi) {
  const { document, unmatched } = adoptService(own as never, served);
  const lines = [...changesBetween(own, document)].flatMap(formatChange);
  return { lines: [...lines, ...unmatched], document: document as AnyDocument };
}

/** A copy with other members, nested objects first. */
const mapped = (node: unknown, change: (node: AnyDocument) => unknown): AnyDocument => {
  if (Array.isArray(node)) return node.map((one) => mapped(one, change));
  if (typeof node !== "object" || node === null) return node;
  return change(Object.fromEntries(Object.entries(node).map(([key, one]) => [key, mapped(one, change)])));
};

const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Replaces the webhooks with one for all events, whose body has this schema. */
function useOneWebhook(document: AnyDocument, schema: object): void {
  document.webhooks = { events: { post: { requestBody: { content: { "application/json": { schema } } } } } };
}
const eventTypes: Record<string, string> = Object.fromEntries(
  Object.entries(openapi.webhooks).map(([type, { post }]) => [
    type,
    post.requestBody.content["application/json"].schema.$ref.split("/").at(-1) ?? "",
  ]),
);

describe("a document of the same service changes nothing", () => {
  it.each<[string, Change, edit?: (text: string) => string]>([
    [
      "with a prefix that has a variable, and a longer path with the same ending",
      (_, document) => Object.assign(document.paths, { "/customers/{id}/passes/{passId}": { get: {} } }),
      (text) => text.replaceAll(/"(?=\/(templates|passes)\/)/g, '"/shops/{shopId}/api/v1'),
    ],
    [
      "with other parameter names, some of them at the path",
      (_, document) => {
        Object.assign(document.components.parameters.CardId, { name: "card" });
        for (const item of Object.values<AnyDocument>(document.paths)) {
          const operations = Object.values<AnyDocument>(item);
          item.parameters = [operations[0].parameters[0]];
          for (const operation of operations) operation.parameters.shift();
        }
      },
      (text) => text.replaceAll("{id}", "{card}").replaceAll("Idempotency-Key", "idempotency-key"),
    ],
    [
      "with other schema names, and without documentation, examples, `x-` members, limits and security",
      (_, document) => {
        const omitted = /^x-|^(examples?|security|operationId|tags|links|min|max|pattern|format$|additional)/;
        const omit = (node: object) =>
          Object.fromEntries(Object.entries(node).filter(([key]) => !omitted.test(key)));
        document.components = mapped(document.components, omit);
        document.paths = mapped(document.paths, omit);
      },
      (text) => text.replaceAll(/Card"(?!\],|:\{"summary)/g, 'Shop.Card"'),
    ],
    [
      "with schemas and parameters in place",
      (_, document) => {
        const inline = (node: AnyDocument): AnyDocument => {
          const [, section = "", name = ""] = node.$ref?.split("/").slice(1) ?? [];
          return name === "" ? node : mapped(document.components[section][name], inline);
        };
        Object.assign(document, mapped(document, inline), { components: {} });
      },
    ],
    [
      "of version 3.0, as a code-first framework writes it",
      ({ Card, FieldValues, IssueCardRequest }, document) => {
        Object.assign(Card.properties.loyaltyTier, { type: "string", nullable: true });
        FieldValues.additionalProperties = { oneOf: [{ type: "string" }, { type: "number" }] };
        Card.properties.fieldValues = { allOf: [Card.properties.fieldValues], description: "Values" };
        IssueCardRequest.properties.fieldValues = { type: "object" };
        document["x-webhooks"] = mapped({ webhooks: document.webhooks }, (node) => node).webhooks;
        delete document.webhooks;
      },
      (text) => text.replace('"3.1.1"', '"3.0.0"'),
    ],
    [
      "with webhooks under other names",
      (_, document) => {
        const entries = Object.entries(document.webhooks);
        document.webhooks = Object.fromEntries(entries.map(([type, item]) => [`on ${type}`, item]));
      },
    ],
    [
      "with one webhook that has `oneOf` and common properties",
      (schemas, document) => {
        for (const name of Object.values(eventTypes)) {
          delete schemas[name].properties.createdAt;
          schemas[name].required = schemas[name].required.filter((member: string) => member !== "createdAt");
        }
        const properties = { createdAt: { type: "string", format: "date-time" } };
        const oneOf = Object.values(eventTypes).map(refer);
        useOneWebhook(document, { type: "object", required: ["createdAt"], properties, oneOf });
      },
    ],
    [
      "with one webhook whose base schema the events extend and its discriminator maps",
      (schemas, document) => {
        for (const name of Object.values(eventTypes))
          schemas[name] = { allOf: [refer("Event"), schemas[name]] };
        const mapping = { ...eventTypes, ping: refer("PingEvent").$ref };
        schemas.Event = { properties: { type: { type: "string" } }, discriminator: { mapping } };
        useOneWebhook(document, refer("Event"));
      },
    ],
    [
      "without bodies, and with errors only as `default`",
      (_, document) => {
        const withoutBodies = ({ content: _, ...node }: AnyDocument) =>
          node.responses ? { ...node, responses: { "2XX": {}, default: {} } } : node;
        document.paths = mapped(document.paths, withoutBodies);
      },
    ],
  ])("%s", (_, change, edit) => {
    expect(adopt(changed(change, edit)).lines).toEqual([]);
  });
});

/** The lines without values, such as `+Card.expiresAt`. */
const shorten = (lines: readonly string[]) =>
  lines.map((line) =>
    line.replace(/^([-+]) (?:components\.schemas\.)?(\S+?): .*/, "$1$2").replaceAll("properties.", ""),
  );

describe("a document that differs is adopted, and its lines are printed", () => {
  it.each<[string, Change, ...lines: string[]]>([
    [
      "a property less, a new one, and one that is optional",
      ({ Card }) => {
        delete Card.properties.customerId;
        Card.properties.expiresAt = { type: "string", "x-internal": 1 };
        Card.required = Card.required.filter((name: string) => !["customerId", "publicUrl"].includes(name));
      },
      ...["-Card.required", "+Card.required", "-Card.customerId", "+Card.expiresAt"],
    ],
    [
      "another type",
      ({ Card }) => Object.assign(Card.properties.status, { type: "integer" }),
      ...["-Card.status.type", "+Card.status.type", "-Card.status.x-extensible-enum"],
    ],
    [
      "known values of an open set, which stays open",
      ({ Card }) => Object.assign(Card.properties.status, { enum: ["active", "blocked"] }),
      ...["-Card.status.x-extensible-enum", "+Card.status.x-extensible-enum"],
    ],
    [
      "a property that contains the schema of the property",
      ({ Customer }) => {
        Customer.properties.parent = { nullable: true, allOf: [refer("Customer")] };
      },
      "+Customer.parent",
    ],
    [
      "a card with alternatives",
      (schemas) => {
        schemas.Blocked = { properties: { reason: { type: "string" } } };
        schemas.Card = { oneOf: [schemas.Card, refer("Blocked")] };
      },
      ...["-Card.type", "-Card.required", "-Card.additionalProperties", "-Card.properties", "+Card.anyOf"],
    ],
    [
      "a consent that one operation describes differently, which is written out there",
      (schemas, document) => {
        const { content } = document.paths["/passes/{id}/consent"].put.responses["200"];
        content["application/json"].schema = refer("Changed");
        const { properties } = schemas.ConsentState;
        schemas.Changed = { properties: { ...properties, marketingConsent: { type: "string" } } };
      },
      ...["-", "+"].map(
        (sign) => `${sign}paths./passes/{id}/consent.put.responses.200.content.application/json.schema`,
      ),
    ],
    [
      "other parameters",
      (_, document) => {
        const { parameters } = document.paths["/templates/{templateId}/passes"].post;
        parameters.pop();
        parameters.push({ name: "tenant", in: "query", required: true, schema: { type: "string" } });
        parameters.push({ name: "Authorization", in: "header" }, { name: "theme", in: "cookie" });
      },
      ...["-", "+"].map((sign) => `${sign}paths./templates/{templateId}/passes.post.parameters`),
    ],
    [
      "another status of success, and no body of a request",
      (_, document) => {
        const { post } = document.paths["/templates/{templateId}/passes"];
        post.responses = { "200": post.responses["201"] };
        delete post.requestBody;
      },
      ...["-", "-", "+"].map((sign, index) => {
        const member = ["requestBody", "responses.201", "responses.200"][index];
        return `${sign}paths./templates/{templateId}/passes.post.${member}`;
      }),
    ],
    [
      "another type of an event's member",
      ({ BalanceChangedEvent }) => {
        BalanceChangedEvent.properties.data.properties.balance.type = "string";
      },
      ...["-BalanceChangedEvent.data.balance.type", "+BalanceChangedEvent.data.balance.type"],
    ],
    [
      "XML, and neither an operation nor an event of ours",
      (_, document) => {
        delete document.paths["/passes/{id}/consent"].put;
        delete document.webhooks.ping;
        document.paths["/passes/{id}"].get.responses["200"].content = { "application/xml": {} };
      },
      "The response of GET /passes/{id} is not JSON; openapi.yaml keeps its own.",
      "The service's document has no operation PUT /passes/{id}/consent; openapi.yaml keeps its own.",
      "The service's document has no event ping; openapi.yaml keeps its own.",
    ],
    [
      "no webhooks",
      (_, document) => delete document.webhooks,
      "The service's document describes none of our events; openapi.yaml keeps its own.",
    ],
  ])("%s", (_, change, ...expected) => {
    const { lines, document } = adopt(changed(change));
    expect(shorten(lines)).toEqual(expected);
    // The second time, only the sentences are left.
    expect(adopt(changed(change), document).lines).toEqual(lines.filter((line) => !/^[-+] /.test(line)));
  });

  it("prints foreign text escaped and shortened, and treats names of the prototype like others", () => {
    const text = JSON.stringify(openapi).replace(
      '"publicUrl":{',
      `"__proto__":{"type":"string"},"constructor":{"type":"number"},"\\u001b]52;c;x\\u0007":{"pattern":"${"x".repeat(300)}"},$&`,
    );
    const { lines, document } = adopt(JSON.parse(text));
    expect(lines).toEqual([
      `+ components.schemas.Card.properties.__proto__: {"type":"string"}`,
      `+ components.schemas.Card.properties.constructor: {"type":"number"}`,
      `+ components.schemas.Card.properties.\\u001b]52;c;x\\u0007: {"pattern":"${"x".repeat(188)}…`,
    ]);
    expect(Object.keys(document.components.schemas.Card.properties)).toContain("__proto__");
    expect(Object.getPrototypeOf(document.components.schemas.Card.properties)).toBe(Object.prototype);
  });
});

describe("a hostile document is refused in a sentence", () => {
  /** Adds the schemas A0 to A<count>; each one contains the next. */
  function addChain(schemas: AnyDocument, count: number, contain: (next: object) => object): void {
    for (let index = 0; index < count; index++) schemas[`A${index}`] = contain(refer(`A${index + 1}`));
    schemas[`A${count}`] = { type: "object", properties: { x: { type: "string" } } };
  }
  const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, {}]));
  const tooLarge = "The schemas of the document are too large, or refer to each other too often.";
  const tooDeep = "The schemas of the document are nested more than 100 levels deep.";

  it.each<[string, Change, message: string]>([
    ["30 doubled allOf", (all) => addChain(all, 30, (next) => ({ allOf: [next, next] })), tooLarge],
    ["30 doubled oneOf", (all) => addChain(all, 30, (next) => ({ oneOf: [next, next] })), tooLarge],
    [
      "30 doubled properties",
      (all) => addChain(all, 30, (next) => ({ properties: { a: next, b: next } })),
      tooLarge,
    ],
    [
      "1,000 parts with 1,000 properties each",
      (all) => Object.assign(all, { A1: { properties }, A0: { allOf: Array(1000).fill(refer("A1")) } }),
      tooLarge,
    ],
    [
      "20,000 allOf inside each other",
      (all) => addChain(all, 20_000, (next) => ({ allOf: [next] })),
      tooDeep,
    ],
    ["a chain of 20,000 references", (all) => addChain(all, 20_000, (next) => next), tooDeep],
    ["20,000 lists inside each other", (all) => addChain(all, 20_000, (items) => ({ items })), tooDeep],
    [
      "a schema that is itself",
      (all) => Object.assign(all, { A0: { allOf: [{ allOf: [refer("A0")] }] } }),
      tooDeep,
    ],
    [
      "a webhook with 30 doubled oneOf",
      (all, document) => {
        addChain(all, 30, (next) => ({ oneOf: [next, next] }));
        useOneWebhook(document, refer("A0"));
      },
      tooLarge,
    ],
    [
      "a parameter that is itself",
      (_, { components }) => {
        components.parameters.CardId = { $ref: "#/components/parameters/CardId" };
      },
      'The reference "#/components/parameters/CardId" leads to another reference.',
    ],
    [
      "a reference to the prototype",
      (all) => Object.assign(all, { A0: refer("__proto__") }),
      'The document refers to "#/components/schemas/__proto__", which it does not have.',
    ],
    [
      "a reference to another document",
      (all) => Object.assign(all, { A0: { $ref: "https://example.com/\u001b" } }),
      'The document refers to "https://example.com/\\u001b", which it does not have.',
    ],
    [
      "none of our operations",
      (_, document) => Object.assign(document, { paths: { "/pets": { get: {} } } }),
      "The service's document has none of our operations: is this the address of the service?",
    ],
  ])("%s", (_, change, message) => {
    const served = changed((schemas, document) => {
      schemas.Card.properties.extra = refer("A0");
      schemas.A0 = {};
      change(schemas, document);
    });
    expect(() => adopt(served)).toThrow(message);
  });
});
