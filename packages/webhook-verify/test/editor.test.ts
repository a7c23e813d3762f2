/** What the compiler and an editor say about events and handlers: the texts, not only whether there is an error. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { errorsOf, inMemoryProgram } from "../../../scripts/in-memory-program.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Programs of a user, by name. */
const programs = {
  forgotten: `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    const nothing = () => {};
    onEvents({
      "card.added": nothing, "card.removed": nothing, "balance.changed": nothing, "tier.changed": nothing, ping: nothing,
    });`,
  "nearly all forgotten": `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.changed": ({ data }) => console.log(data.balance) });`,
  "no such event": `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.change": () => {}, other: () => {} });`,
  misspelt: `
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.changed": ({ data }) => console.log(data.blance), other: () => {} });`,
  "no such member": `
    import { isKnownEvent, type UnknownEvent, type WebhookEvent } from "@loyalty-cards/webhook-verify";
    export function read(event: WebhookEvent, unknown: UnknownEvent) {
      if (isKnownEvent(event) && event.type === "tier.changed") return event.data.teir;
      if (event.type === "card.added") return event.data.passID;
      if (event.type === "consent.changed") return event.dta;
      return unknown.dta;
    }`,
  "anything returned": `
    import { createReceiver, onEvents } from "@loyalty-cards/webhook-verify";
    const balances = new Map<string, number>();
    const accept = onEvents({ "balance.changed": ({ data }) => balances.set(data.passId, data.balance), other: async () => 7 });
    createReceiver({ secret: "s", accept });
    createReceiver({ secret: "s", accept: ({ id }) => balances.delete(id), process: ({ id }) => balances.set(id, 1) });`,
  hover: `
    import type { KnownEvents } from "@loyalty-cards/webhook-verify";
    import { onEvents } from "@loyalty-cards/webhook-verify";
    onEvents({ "balance.changed": (event) => event, other: () => {} });
    export declare const events: KnownEvents;`,
};

const pathOf = (name: string) => `${here}${name.replaceAll(" ", "-")}.ts`;
const program = inMemoryProgram(
  new Map(Object.entries(programs).map(([name, text]) => [pathOf(name), text])),
);
const checker = program.getTypeChecker();
const source = (name: keyof typeof programs) => program.getSourceFile(pathOf(name)) as ts.SourceFile;
const messages = (name: keyof typeof programs) => errorsOf(program, pathOf(name));

describe("the compiler", () => {
  it("names the event that onEvents has no handler for", () => {
    expect(messages("forgotten")).toEqual([
      expect.stringMatching(
        /Property '"consent\.changed"' is missing .* required in type 'HandlersOfEveryEvent/,
      ),
    ]);
    expect(messages("nearly all forgotten")).toEqual([
      expect.stringMatching(
        /missing the following properties from type 'HandlersOfEveryEvent.*: "card\.added", "card\.removed", "tier\.changed", "consent\.changed", .*/,
      ),
    ]);
  });

  it("names the event that does not exist", () => {
    expect(messages("no such event")).toEqual([
      expect.stringContaining(`'"balance.change"' does not exist in type 'EventHandlers`),
    ]);
  });

  it("refuses a member that an event does not have, and suggests the right one", () => {
    expect(messages("misspelt")).toEqual([
      expect.stringMatching(/'blance' does not exist .* Did you mean 'balance'\?/s),
    ]);
    expect(messages("no such member")).toEqual([
      expect.stringMatching(/'teir' does not exist on type '\{ passId: string; .*tier\?: unknown;/),
      expect.stringMatching(/'passID' does not exist .* Did you mean 'passId'\?/s),
      expect.stringMatching(/'dta' does not exist on type 'ConsentChanged'\. Did you mean 'data'\?/),
      expect.stringMatching(/'dta' does not exist on type 'UnknownEvent'\. Did you mean 'data'\?/),
    ]);
  });

  it("lets handlers return anything", () => {
    expect(messages("anything returned")).toEqual([]);
  });
});

/** Behind what the service's document says, a member names the clause of the specification. */
const clause = /\s\(spec \d+\.\d+\)(?=\.$)/;

type Schema = { $ref?: string; description?: string; properties?: Record<string, Schema> };

describe("an editor", () => {
  it("shows the event by its name where a handler takes it", () => {
    const shown: string[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isParameter(node)) shown.push(checker.typeToString(checker.getTypeAtLocation(node)));
      ts.forEachChild(node, visit);
    };
    visit(source("hover"));
    expect(shown).toEqual(["BalanceChanged"]);
  });

  it("shows for every member of every event, and for no other, what the service's document says about it", () => {
    const document = JSON.parse(
      readFileSync(new URL("../../../openapi/openapi.json", import.meta.url), "utf8"),
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
      for (const [name, member] of Object.entries(schema.properties ?? {})) {
        const whole = resolved(member);
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
      for (const member of type.getProperties()) {
        const [declaration] = member.getDeclarations() ?? [];
        if (declaration === undefined || !declaration.getSourceFile().fileName.includes("/webhook-verify/"))
          continue; // of arrays and strings
        const text = ts.displayPartsToString(member.getDocumentationComment(checker));
        expect(text, `${path}.${member.name}`).toMatch(clause);
        shown[`${path}.${member.name}`] = text.replace(clause, "").replaceAll(/\s+/g, " ");
        show(`${path}.${member.name}`, checker.getTypeOfSymbol(member));
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
