/** The messages of the compiler, and the texts of an editor, about events and handlers. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { getErrors, inMemoryProgram } from "../../../tools/checks/in-memory-program.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Example programs, by name. */
const programs = {
  forgotten: `
    import { type KnownEvent, onEvents } from "@loyalty-cards/webhook-verify";
    declare const handlers: Record<Exclude<KnownEvent["type"], "consent.changed">, () => void>;
    onEvents(handlers);`,
  "most handlers missing": `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.changed": ({ data }) => console.log(data.balance) });`,
  "unknown event type": `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.change": () => {}, otherTypes: () => {} });`,
  "without isKnownEvent": `
    import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
    export const read = (event: WebhookEvent) => (event.type === "balance.changed" ? event.data.balance : 0);`,
  misspelt: `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.changed": ({ data }) => console.log(data.blance), otherTypes: () => {} });`,
  "unknown property": `
    import { isKnownEvent, type UnknownEvent, type WebhookEvent } from "@loyalty-cards/webhook-verify";
    export function read(event: WebhookEvent, unknown: UnknownEvent) {
      if (isKnownEvent(event) && event.type === "tier.changed") return event.data.teir;
      if (isKnownEvent(event) && event.type === "card.added") return event.data.passID;
      if (isKnownEvent(event) && event.type === "consent.changed") return event.dta;
      return unknown.dta;
    }`,
  "anything returned": `
    import { createReceiver, onEvents } from "@loyalty-cards/webhook-verify";
    const balances = new Map<string, number>();
    const handler = onEvents({ "balance.changed": ({ data }) => balances.set(data.passId, data.balance), otherTypes: async () => 7 });
    createReceiver({ secret: "s", handler });
    createReceiver({ secret: "s", handler: ({ id }) => balances.delete(id), afterResponse: ({ id }) => balances.set(id, 1) });`,
  hover: `
    import { type KnownEvent, onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.changed": (event) => event, otherTypes: () => {} });
    export declare const events: { [Type in KnownEvent["type"]]: Extract<KnownEvent, { type: Type }> };`,
};

const toPath = (name: string) => `${here}${name.replaceAll(" ", "-")}.ts`;
const program = inMemoryProgram(
  new Map(Object.entries(programs).map(([name, text]) => [toPath(name), text])),
);
const checker = program.getTypeChecker();
const source = (name: keyof typeof programs) => program.getSourceFile(toPath(name)) as ts.SourceFile;
const messages = (name: keyof typeof programs) => getErrors(program, toPath(name));

describe("the compiler", () => {
  it("names the event type that onEvents has no handler for", () => {
    expect(messages("forgotten")).toEqual([
      expect.stringMatching(
        /Property '"consent\.changed"' is missing .* required in type 'HandlersOfEveryEvent/,
      ),
    ]);
    expect(messages("most handlers missing")).toEqual([
      expect.stringMatching(
        /missing the following properties from type 'HandlersOfEveryEvent.*: "card\.added", "card\.removed", "tier\.changed", "consent\.changed", .*/,
      ),
    ]);
  });

  it("names an event type that does not exist", () => {
    expect(messages("unknown event type")).toEqual([
      expect.stringContaining(`'"balance.change"' does not exist in type 'EventHandlers`),
    ]);
  });

  it("rejects a property that an event does not have, and suggests the right one", () => {
    expect(messages("misspelt")).toEqual([
      expect.stringMatching(/'blance' does not exist .* Did you mean 'balance'\?/s),
    ]);
    expect(messages("unknown property")).toEqual([
      expect.stringMatching(/'teir' does not exist on type '\{ passId: string; .*tier\?: unknown;/),
      expect.stringMatching(/'passID' does not exist .* Did you mean 'passId'\?/s),
      expect.stringMatching(/'dta' does not exist on type 'ConsentChanged'\. Did you mean 'data'\?/),
      expect.stringMatching(/'dta' does not exist on type 'UnknownEvent'\. Did you mean 'data'\?/),
    ]);
  });

  it("rejects `data` of an event that isKnownEvent has not checked", () => {
    expect(messages("without isKnownEvent")).toEqual(["'event.data' is of type 'unknown'."]);
  });

  it("allows handlers to return anything", () => {
    expect(messages("anything returned")).toEqual([]);
  });
});

/** A docstring is the description in the OpenAPI document, followed by the clause of the specification. */
const clause = /\s\(\[spec \d+\.\d+\]\(https:\S+\)\)(?=\.$)/;

type Schema = { $ref?: string; description?: string; properties?: Record<string, Schema> };

describe("an editor", () => {
  it("shows the name of the event type in a handler", () => {
    const shown: string[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isParameter(node)) shown.push(checker.typeToString(checker.getTypeAtLocation(node)));
      ts.forEachChild(node, visit);
    };
    visit(source("hover"));
    expect(shown).toEqual(["BalanceChanged"]);
  });

  it("shows the description of the OpenAPI document for every property of every event", () => {
    const document = JSON.parse(
      readFileSync(new URL("../../../openapi/generated/openapi.json", import.meta.url), "utf8"),
    );
    const resolved = (schema: Schema): Schema => {
      if (schema.$ref === undefined) return schema;
      const target = schema.$ref
        .slice(2)
        .split("/")
        .reduce((value, key) => value[key], document) as Schema;
      return {
        ...resolved(target),
        ...(schema.description !== undefined && { description: schema.description }),
      };
    };
    const ofDocument: Record<string, string> = {};
    const collect = (path: string, schema: Schema): void => {
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        const whole = resolved(property);
        ofDocument[`${path}.${name}`] = whole.description ?? "";
        collect(`${path}.${name}`, whole);
      }
    };
    for (const [type, { post }] of Object.entries<{
      post: { requestBody: { content: Record<string, { schema: Schema }> } };
    }>(document.webhooks))
      collect(type, resolved(post.requestBody.content["application/json"]?.schema ?? {}));

    const shown: Record<string, string> = {};
    const show = (path: string, type: ts.Type): void => {
      for (const property of type.getProperties()) {
        const [declaration] = property.getDeclarations() ?? [];
        if (!declaration?.getSourceFile().fileName.includes("/openapi/generated/")) continue; // methods of arrays and strings
        const text = ts.displayPartsToString(property.getDocumentationComment(checker));
        expect(text, `${path}.${property.name}`).toMatch(clause);
        shown[`${path}.${property.name}`] = text.replace(clause, "").replaceAll(/\s+/g, " ");
        show(`${path}.${property.name}`, checker.getNonNullableType(checker.getTypeOfSymbol(property)));
      }
    };
    const events = source("hover").statements.filter(ts.isVariableStatement)[0]?.declarationList
      .declarations[0] as ts.Node;
    for (const event of checker.getTypeAtLocation(events).getProperties())
      show(event.name, checker.getTypeOfSymbol(event));
    expect(Object.values(shown)).not.toContain("");
    expect(shown).toEqual(ofDocument);
  });
});
