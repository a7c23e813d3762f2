/** `npm run generate -- --from`: documents of the same service in other styles change nothing, differences are adopted and named, and what cannot be read is refused. */
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
const eventNames = Object.keys(openapi.components.schemas).filter((name) => name.endsWith("Event"));

describe("a document of the same service changes nothing", () => {
  it.each<[string, Change, edit?: (text: string) => string]>([
    [
      "with a prefix that has a variable, other parameter names, some of them at the path, and a longer path",
      (_, { components, paths }) => {
        Object.assign(components.parameters.CardId, { name: "card" });
        for (const item of Object.values<AnyDocument>(paths)) {
          const operations = Object.values<AnyDocument>(item);
          item.parameters = [operations[0].parameters[0]];
          for (const operation of operations) operation.parameters.shift();
        }
        paths["/customers/{id}/passes/{passId}"] = { get: {} };
      },
      (text) =>
        text
          .replaceAll("/passes/{id}", "/passes/{card}")
          .replaceAll(/"(?=\/(templates|passes)\/)/g, '"/shops/{shopId}/api/v1')
          .replaceAll("Idempotency-Key", "idempotency-key"),
    ],
    [
      "with other schema names, without documentation, examples, `x-` members, limits, security and bodies",
      (_, document) => {
        const omitted = /^x-|^(examples?|security|operationId|tags|links|min|max|pattern|format$|additional)/;
        const omit = (node: object) =>
          Object.fromEntries(Object.entries(node).filter(([key]) => !omitted.test(key)));
        document.components = mapped(document.components, omit);
        document.paths = mapped(document.paths, omit);
        for (const operation of Object.values<AnyDocument>(document.paths["/passes/{id}/consent"]))
          operation.responses = { "2XX": {}, default: {} };
      },
      (text) => text.replaceAll(/Card"(?!\],|:\{"summary)/g, 'Shop.Card"'),
    ],
    [
      "of version 3.0, as a code-first framework writes it, with schemas in place and other names of webhooks",
      ({ Card, FieldValues, IssueCardRequest }, document) => {
        Object.assign(Card.properties.loyaltyTier, { type: "string", nullable: true });
        FieldValues.additionalProperties = { oneOf: [{ type: "string" }, { type: "number" }] };
        Card.properties.fieldValues = { allOf: [Card.properties.fieldValues], description: "Values" };
        IssueCardRequest.properties.fieldValues = { type: "object" };
        const inline = (node: AnyDocument): AnyDocument => {
          const [, section = "", name = ""] = node.$ref?.split("/").slice(1) ?? [];
          return name === "" ? node : mapped(document.components[section][name], inline);
        };
        const { webhooks, paths } = mapped(document, inline);
        const items = Object.entries(webhooks).map(([type, item]) => [`on ${type}`, item]);
        for (const name of Object.keys(document)) delete document[name];
        Object.assign(document, { openapi: "3.0.0", paths, "x-webhooks": Object.fromEntries(items) });
      },
    ],
    [
      "with one webhook that has `oneOf` and common properties",
      (schemas, document) => {
        for (const name of eventNames) delete schemas[name].properties.createdAt;
        const properties = { createdAt: { type: "string", format: "date-time" } };
        useOneWebhook(document, { type: "object", properties, oneOf: eventNames.map(refer) });
      },
    ],
    [
      "with one webhook whose base schema the events extend and its discriminator maps",
      (schemas, document) => {
        const mapping: Record<string, string> = {};
        for (const name of eventNames) {
          mapping[schemas[name].properties.type.const] = name;
          schemas[name] = { allOf: [refer("Event"), schemas[name]] };
        }
        mapping["ping"] = refer("PingEvent").$ref;
        schemas.Event = { properties: { type: { type: "string" } }, discriminator: { mapping } };
        useOneWebhook(document, refer("Event"));
      },
    ],
  ])("%s", (_, change, edit) => {
    expect(adopt(changed(change, edit)).lines).toEqual([]);
  });
});

describe("a document that differs", () => {
  it("is adopted, its lines are printed, and the second time only sentences are left", () => {
    const served = changed((schemas, { paths, webhooks }) => {
      const { Card, ConsentState, BalanceChangedEvent } = schemas;
      // A property less, one that is optional, another type, an open set that stays open, and a new one.
      delete Card.properties.customerId;
      Card.required = Card.required.filter((name: string) => !["customerId", "publicUrl"].includes(name));
      Object.assign(Card.properties.issuedVia, { type: "integer" });
      Object.assign(Card.properties.status, { enum: ["active", "blocked"] });
      Card.properties.expiresAt = { type: "string", "x-internal": 1 };
      // A property that contains the schema of the property, and alternatives.
      Card.properties.parent = { nullable: true, allOf: [refer("Card")] };
      Card.properties.loyaltyTier = { oneOf: [{ type: "string" }, refer("Tier")] };
      schemas.Tier = { properties: { name: { type: "string" } } };
      // Two operations that describe a consent differently: the second one is written out.
      const { properties } = ConsentState;
      schemas.Changed = {
        ...ConsentState,
        properties: { ...properties, marketingConsent: { type: "string" } },
      };
      const { content } = paths["/passes/{id}/consent"].put.responses["200"];
      content["application/json"].schema = refer("Changed");
      // Other parameters, no body, another status.
      const { post } = paths["/templates/{templateId}/passes"];
      post.parameters.pop();
      post.parameters.push({ name: "tenant", in: "query", required: true, schema: { type: "string" } });
      post.parameters.push({ name: "Authorization", in: "header" }, { name: "theme", in: "cookie" });
      post.responses = { "200": post.responses["201"] };
      delete post.requestBody;
      // An event, and what cannot be matched.
      BalanceChangedEvent.properties.data.properties.balance.type = "string";
      delete webhooks.ping;
      paths["/passes/{id}"].get.responses["200"].content = { "application/xml": {} };
      delete paths["/passes/{id}/operations"];
    });
    const { lines, document } = adopt(served);
    const shorten = (line: string) =>
      line.replace(/^([-+]) (components\.schemas|paths)\.(\S+?): .*/, "$1$3").replaceAll(".properties", "");
    const consent = "/passes/{id}/consent.put.responses.200.content.application/json.schema";
    const issue = "/templates/{templateId}/passes.post";
    const sentences = [
      "The response of GET /passes/{id} is not JSON; openapi.yaml keeps its own.",
      "The service's document has no operation GET /passes/{id}/operations; openapi.yaml keeps its own.",
      "The service's document has no event ping; openapi.yaml keeps its own.",
    ];
    expect(lines.map(shorten)).toEqual([
      ...[`-${issue}.parameters`, `+${issue}.parameters`, `-${issue}.requestBody`],
      ...[`-${issue}.responses.201`, `+${issue}.responses.200`],
      ...[`-${consent}`, `+${consent}`, "-Card.required", "+Card.required"],
      ...["-Card.status.x-extensible-enum", "+Card.status.x-extensible-enum", "-Card.customerId"],
      ...["-Card.loyaltyTier.type", "+Card.loyaltyTier.anyOf"],
      ...["-Card.issuedVia.type", "+Card.issuedVia.type", "-Card.issuedVia.x-extensible-enum"],
      ...["+Card.expiresAt", "+Card.parent"],
      ...["-BalanceChangedEvent.data.balance.type", "+BalanceChangedEvent.data.balance.type"],
      ...sentences,
    ]);
    expect(adopt(served, document).lines).toEqual(sentences);
  });

  it("keeps the events when it describes none", () => {
    const { lines } = adopt(changed((_, document) => delete document.webhooks));
    expect(lines).toEqual([
      "The service's document describes none of our events; openapi.yaml keeps its own.",
    ]);
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

describe("a document that cannot be read is refused in a sentence", () => {
  it.each([
    ["the prototype", "#/components/schemas/__proto__", "#/components/schemas/__proto__"],
    ["elsewhere", "http://a/\u001b", "http://a/\\u001b"],
  ])("with a reference to %s", (_, $ref, shown) => {
    const served = changed(({ Card }) => Object.assign(Card.properties, { extra: { $ref } }));
    expect(() => adopt(served)).toThrow(`refers to "${shown}", which it does not`);
  });

  it("with a parameter that is itself, and without any of our operations", () => {
    const $ref = "#/components/parameters/CardId";
    const circular = changed((_, { components }) =>
      Object.assign(components.parameters, { CardId: { $ref } }),
    );
    expect(() => adopt(circular)).toThrow(`The reference "${$ref}" leads to another reference.`);
    const other = { openapi: "3.1.0", paths: { "/pets": { get: {} } } };
    expect(() => adopt(other)).toThrow("has none of our operations: is this the address of the service?");
  });
});
