/** The exports of each entry point, types included. */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };

/** The names that an entry point exports, from its source: no `export *` hides one. */
function readExports(file: string): string[] {
  const path = new URL(`../${file}`, import.meta.url);
  const source = ts.createSourceFile(file, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement): string[] => {
    if (ts.isExportDeclaration(statement)) {
      if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause))
        throw new Error(`${file} must name what it exports.`);
      return statement.exportClause.elements.map(({ name }) => name.text);
    }
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText());
    return [(statement as ts.DeclarationStatement).name?.getText() ?? "default"];
  });
}

it("exports these names", async () => {
  const entries = Object.entries(packageJson.exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[path, readExports(target["@loyalty-cards/source"]).sort()] as const],
  );
  expect(Object.fromEntries(entries)).toMatchInlineSnapshot(`
    {
      ".": [
        "Attempt",
        "AttemptRecord",
        "Card",
        "Clock",
        "Deliver",
        "Delivery",
        "Duration",
        "EndpointInput",
        "Fault",
        "FaultInput",
        "ManualClock",
        "MockService",
        "MockServiceOptions",
        "Operation",
        "ServiceClock",
        "ServiceEvent",
        "Snapshot",
        "Template",
        "TemplateField",
        "TemplateInput",
        "WaitCondition",
        "WaitResult",
        "WaitTimeoutError",
        "Warning",
        "createMockService",
        "manualClock",
        "scaledClock",
      ],
      "./doctor": [
        "CheckName",
        "CheckReceiverOptions",
        "Finding",
        "ReceiverReport",
        "checkReceiver",
      ],
      "./msw": [
        "failOnUnhandled",
        "mockHandlers",
      ],
      "./node": [
        "MockServer",
        "MockServerOptions",
        "TrafficEvent",
        "startMockServer",
      ],
    }
  `);
  expect(new Set(entries.flatMap(([, names]) => names)).size).toBeLessThanOrEqual(40);
});

it.each([
  [".", ["WaitTimeoutError", "createMockService", "manualClock", "scaledClock"]],
  ["./msw", ["failOnUnhandled", "mockHandlers"]],
  ["./node", ["startMockServer"]],
  ["./doctor", ["checkReceiver"]],
])("%s exports these values", async (path, names) => {
  expect(Object.keys(await import(`@loyalty-cards/mock-server${path.slice(1)}`)).sort()).toEqual(names);
});
