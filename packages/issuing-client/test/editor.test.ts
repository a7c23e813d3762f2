/** What the compiler prints about mistakes, and what an editor shows about the members of responses and requests. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { getErrors, inMemoryProgram } from "../../../tools/checks/in-memory-program.ts";

const open = `
  import { createIssuingClient, defineTemplate } from "@loyalty-cards/issuing-client";
  const client = createIssuingClient();
  const club = defineTemplate<{ name: string; points?: number }>("tpl_club");
  const consents = { privacy: { version: "2026-01" } };`;

/** Programs that use the package, by name. */
const programs = {
  "misspelt members": `${open}
    const card = await client.getCard("card_1");
    card.loyaltyBalanse;
    (await client.issueCard(club, { fieldValues: { name: "" }, customer: { consents } }, { userId: 1 })).fieldValues.nam;
    (await client.listOperations("card_1")).map((operation) => operation.blance);
    (await client.getConsent("card_1")).marketingConcent;
    (await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } })).data?.loyaltyTeir;`,
  "unknown members": `${open}
    const card = await client.getCard("card_1");
    if ("stampsLeft" in card) console.log(card.stampsLeft);
    console.log(Object.entries(card));
    const status: string = card.status === "active" ? "" : card.status;`,
  hover: `${open}
    import type { Card, ConsentState, Customer, Operation } from "@loyalty-cards/issuing-client";
    const card = await client.getCard("card_1");
    const clubCard = await client.issueCard(club, { fieldValues: { name: "" }, customer: { consents } }, { userId: 1 });
    const operations = await client.listOperations("card_1");
    const consent = await client.getConsent("card_1");
    const fields = clubCard.fieldValues;
    const status = card.status;
    const operation = operations.at(0);
    const cause = operation?.type;
    const sent = {} as Customer;
    const phone = sent.phone;
    const given = sent.consents;
    export declare const named: {
      Card: Card; Customer: Customer; Operation: Operation; ConsentState: ConsentState; ConsentChange: Parameters<typeof client.setConsent>[1]
    };`,
};

/** Calls of `issueCard` with one mistake each, and the message that names it. */
const mistakes: Record<string, [call: string, named: RegExp]> = {
  "a misspelt member of the customer": [
    `client.issueCard("tpl_club", { customer: { phon: "600100200", consents } }, { userId: 1 });`,
    /'phon' does not exist in type 'Customer'\. Did you mean to write 'phone'\?/,
  ],
  "a misspelt member of the customer with a defined template": [
    `client.issueCard(club, { fieldValues: { name: "" }, customer: { phon: "600100200", consents } }, { userId: 1 });`,
    /'phon' does not exist in type 'Customer'\. Did you mean to write 'phone'\?/,
  ],
  "a required field that is missing": [
    `client.issueCard(club, { fieldValues: { points: 1 }, customer: { consents } }, { userId: 1 });`,
    /Property 'name' is missing/,
  ],
  "required fields that are all missing": [
    `client.issueCard(club, { customer: { consents } }, { userId: 1 });`,
    /Property 'fieldValues' is missing/,
  ],
  "a misspelt field": [
    `client.issueCard(club, { fieldValues: { name: "", pionts: 1 }, customer: { consents } }, { userId: 1 });`,
    /'pionts' does not exist .* Did you mean to write 'points'\?/,
  ],
  "a phone that is a number": [
    `client.issueCard("tpl_club", { customer: { phone: 600100200, consents } }, { userId: 1 });`,
    /Type 'number' is not assignable to type 'string'\.\n.* property 'phone' .* type 'Customer'/,
  ],
  "a phone that is a number in a request variable": [
    `const request = { customer: { phone: 600100200, consents } }; client.issueCard("tpl_club", request, { userId: 1 });`,
    /'customer\.phone' are incompatible/,
  ],
  "consents that are missing": [
    `client.issueCard("tpl_club", { customer: { phone: "600100200" } }, { userId: 1 });`,
    /Property 'consents' is missing .* required in type 'Customer'/,
  ],
  "consents that are missing with a defined template": [
    `client.issueCard(club, { fieldValues: { name: "" }, customer: { phone: "600100200" } }, { userId: 1 });`,
    /Property 'consents' is missing .* required in type 'Customer'/,
  ],
  "options that are missing": [
    `client.issueCard("tpl_club", { customer: { consents } });`,
    /Expected 3 arguments, but got 2\.\nAn argument for 'options' was not provided/,
  ],
  "a userId that is missing": [
    `client.issueCard("tpl_club", { customer: { consents } }, {});`,
    /'\{\}' is not assignable to parameter of type 'IssueCardOptions'/,
  ],
  "a userId and an idempotencyKey": [
    `client.issueCard("tpl_club", { customer: { consents } }, { userId: 1, idempotencyKey: "order-1" });`,
    /Types of property 'idempotencyKey' are incompatible/,
  ],
  "a misspelt option": [
    `client.issueCard("tpl_club", { customer: { consents } }, { userID: 1 });`,
    /'userID' does not exist in type 'IssueCardOptions'\. Did you mean to write 'userId'\?/,
  ],
};

const allPrograms: Record<string, string> = {
  ...programs,
  ...Object.fromEntries(Object.entries(mistakes).map(([name, [call]]) => [name, `${open}\n${call}`])),
};

const here = fileURLToPath(new URL(".", import.meta.url));
const toFilePath = (name: string) => `${here}${name.replaceAll(" ", "-")}.ts`;
const program = inMemoryProgram(
  new Map(Object.entries(allPrograms).map(([name, text]) => [toFilePath(name), `${text}\nexport {};`])),
);
const checker = program.getTypeChecker();
const errors = (name: string) => getErrors(program, toFilePath(name));

describe("the compiler", () => {
  it("rejects a misspelt member of a response, and suggests the right one", () => {
    expect(errors("misspelt members")).toEqual([
      expect.stringMatching(/'loyaltyBalanse' .* type 'Card<FieldValues>'\. Did you mean 'loyaltyBalance'\?/),
      expect.stringMatching(/'nam' .* Did you mean 'name'\?/s),
      expect.stringMatching(/'blance' .* type 'Operation'\. Did you mean 'balance'\?/),
      expect.stringMatching(/'marketingConcent' .* type 'ConsentState'\. Did you mean 'marketingConsent'\?/),
      expect.stringMatching(/'loyaltyTeir' .* Did you mean 'loyaltyTier'\?/s),
    ]);
  });

  it("lets a program read members that this version does not know, and values of open sets", () => {
    expect(errors("unknown members")).toEqual([]);
  });
});

describe("issueCard", () => {
  it.each(Object.entries(mistakes))("has one compiler error, which names %s", (name, [, named]) => {
    const printed = errors(name);
    expect(printed).toEqual([expect.stringMatching(named)]);
    expect(printed[0]).not.toMatch(/overload/i);
  });
});

type Schema = { $ref?: string; description?: string; properties?: Record<string, Schema> };

describe("an editor", () => {
  const variables = (program.getSourceFile(toFilePath("hover")) as ts.SourceFile).statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => declarationList.declarations);
  const getType = (variable: string) =>
    checker.getTypeAtLocation(variables.find(({ name }) => name.getText() === variable) as ts.Node);

  it("shows names of types, and no path of the OpenAPI document", () => {
    const shown = {
      card: "Card<FieldValues>",
      clubCard: "Card<{ name: string; points?: number; }>",
      operations: "Operation[]",
      operation: "Operation | undefined",
      cause: "OperationType | undefined",
      consent: "ConsentState",
      fields: "{ name: string; points?: number; }",
      status: '"active" | (string & {})',
      phone: "string | null | undefined",
      given: "Consents",
    };
    const names = Object.keys(shown);
    expect(Object.fromEntries(names.map((name) => [name, checker.typeToString(getType(name))]))).toEqual(
      shown,
    );
  });

  it("shows the options of issueCard by their name, with a description of each", () => {
    const client = checker.getTypeAtLocation(
      (program.getSourceFile(toFilePath("hover")) as ts.SourceFile).statements
        .filter(ts.isVariableStatement)
        .map(({ declarationList }) => declarationList.declarations[0])
        .find((declaration) => declaration?.name.getText() === "client") as ts.Node,
    );
    const [signature] = checker
      .getTypeOfSymbol(client.getProperty("issueCard") as ts.Symbol)
      .getCallSignatures() as [ts.Signature];
    expect(checker.signatureToString(signature)).toContain("options: IssueCardOptions): Promise<");

    const options = signature.getParameters()[2] as ts.Symbol;
    const { types } = checker.getTypeOfSymbol(options) as ts.UnionType;
    const described = types.map((type) =>
      type
        .getProperties()
        .filter((member) => member.getDocumentationComment(checker).length > 0)
        .map(({ name }) => name),
    );
    const every = [
      "signal",
      "timeoutMs",
      "deadlineMs",
      "maxRetries",
      "headers",
      "onResponse",
      "firstAttemptAt",
    ];
    expect(described.map((names) => names.sort())).toEqual([
      ["userId", "keySuffix", ...every].sort(),
      ["idempotencyKey", ...every].sort(),
    ]);
  });

  it("shows for every member its description in the OpenAPI document and the clause of the specification", () => {
    const document = JSON.parse(
      readFileSync(new URL("../../../openapi/generated/openapi.json", import.meta.url), "utf8"),
    );
    const schemas: Record<string, Schema> = document.components.schemas;
    const ofDocument: Record<string, string> = {};
    const collect = (path: string, schema: Schema): void => {
      for (const [name, member] of Object.entries(schema.properties ?? {})) {
        const whole = schemas[member.$ref?.split("/").at(-1) ?? ""] ?? member;
        ofDocument[`${path}.${name}`] = whole.description ?? "";
        collect(`${path}.${name}`, whole);
      }
    };

    const shown: Record<string, string> = {};
    const clause = /\s\(\[spec \d+\.\d+\]\(https:\S+\)\)(?=\.$)/;
    const show = (path: string, type: ts.Type): void => {
      for (const member of checker.getNonNullableType(type).getProperties()) {
        const [declaration] = member.getDeclarations() ?? [];
        if (!/issuing-client|generated/.test(declaration?.getSourceFile().fileName ?? "")) continue; // of arrays and strings
        const text = ts.displayPartsToString(member.getDocumentationComment(checker));
        expect(text, `${path}.${member.name}`).toMatch(clause);
        shown[`${path}.${member.name}`] = text.replace(clause, "").replaceAll(/\s+/g, " ");
        show(`${path}.${member.name}`, checker.getTypeOfSymbol(member));
      }
    };
    for (const named of getType("named").getProperties()) {
      collect(named.name, schemas[named.name] ?? {});
      show(named.name, checker.getTypeOfSymbol(named));
    }
    expect(Object.keys(shown).length).toBeGreaterThan(20);
    expect(shown).toEqual(ofDocument);
  });
});
