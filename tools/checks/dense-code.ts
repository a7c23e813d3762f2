/**
 * A part of `npm run lint`: prints each place where source code is dense in a way that Biome cannot
 * see, and exits with 1 if there is one.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const maxColumns = 100;
const maxOwnLines = 60;
const sources = /^(packages\/[^/]+\/(src|static)|internal|tools|examples)\/.*\.m?[jt]sx?$/;
const tests = /\btest\/|\.test\./;

const url = /https?:\/\//;
const sql = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|CREATE INDEX|WHERE|VALUES)\b/;
const lateTag = /^\s*(\/\*\*|\*|\/\/).*[^\s/*].*\s@(param|returns|throws)\b/;

/** Returns the messages of each file of the sources. */
function findAll(): string[] {
  const paths = execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n");
  return paths
    .filter((path) => sources.test(path) && !tests.test(path))
    .flatMap((path) =>
      findDenseCode(readFileSync(path, "utf8"), path).map((place) => `${path}:${place}`),
    );
}

/**
 * Messages, such as `LINE: the line has 134 columns, more than 100`. Addresses and the texts of
 * messages may be longer.
 * @param path its ending says whether the text can contain JSX.
 */
export function findDenseCode(text: string, path = "file.ts"): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const nodes = listNodes(file);
  const messages = new Set(nodes.filter((node) => isMessage(node)).flatMap(listLines));
  const functions = nodes.filter((node) => ts.isFunctionLike(node) && "body" in node);

  const problems: string[] = [];
  const report = (line: number, problem: string) => problems.push(`${line + 1}: ${problem}`);
  for (const [line, content] of text.split("\n").entries()) {
    const isAllowed = url.test(content) || messages.has(line);
    if (content.length > maxColumns && !isAllowed)
      report(line, `the line has ${content.length} columns, more than ${maxColumns}`);
    if (lateTag.test(content)) report(line, "@param, @returns or @throws does not begin a line");
  }
  for (const node of nodes.filter(isSpreadLiteral))
    report(getFirstLine(node), "a literal is spread into another one: write its parts");
  for (const node of functions) {
    const ownLines = countOwnLines(node, functions);
    if (ownLines <= maxOwnLines) continue;
    const size = `the function has ${ownLines} lines`;
    report(getFirstLine(node), `${size}, those inside not counted; at most ${maxOwnLines}`);
  }
  return problems;
}

/** Lists a node and those inside it, without the tokens. */
function listNodes(node: ts.Node): ts.Node[] {
  const nodes = [node];
  ts.forEachChild(node, (child) => {
    nodes.push(...listNodes(child));
  });
  return nodes;
}

const isMessage = (node: ts.Node): boolean =>
  (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) && !sql.test(node.getText());

/** `...{ a, b }` and `...[a, b]`, which keep the formatter from breaking a line. */
const isSpreadLiteral = (node: ts.Node): boolean =>
  (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) ||
  (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.expression));

/** Returns the lines of a function without those of the functions inside it. */
function countOwnLines(node: ts.Node, functions: readonly ts.Node[]): number {
  const inside = functions.filter(
    (other) => other !== node && other.pos >= node.pos && other.end <= node.end,
  );
  // The line on which an inner function begins belongs to the outer one too.
  const others = new Set(inside.flatMap((other) => listLines(other).slice(1)));
  return listLines(node).filter((line) => !others.has(line)).length;
}

const getFirstLine = (node: ts.Node): number =>
  node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line;

function listLines(node: ts.Node): number[] {
  const first = getFirstLine(node);
  const last = node.getSourceFile().getLineAndCharacterOfPosition(node.end).line;
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const places = findAll();
  for (const place of places) console.log(place);
  if (places.length > 0) process.exitCode = 1;
}
