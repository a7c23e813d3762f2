/** Reads the messages in the sources, so that a test can check the messages that a page quotes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Stands for an expression of a template literal. */
const placeholder = "\u0000";

/** Reads every string in the sources of the packages and of what they share: literals, template literals with placeholders, and both joined by +. */
export function readMessages(): string[] {
  const folders = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name, "src"));
  return [join(root, "internal"), ...folders].flatMap((folder) => {
    if (!existsSync(folder)) return []; // the contract has no code
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith("test"))
      .flatMap((file) => parseStrings(readFileSync(join(folder, file), "utf8")));
  });
}

/** Returns the strings of one program. */
export function parseStrings(program: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = toText(node);
    if (text === undefined) ts.forEachChild(node, visit);
    else {
      found.push(text);
      if (ts.isTemplateExpression(node)) for (const { expression } of node.templateSpans) visit(expression);
    }
  };
  visit(ts.createSourceFile("a.ts", program, ts.ScriptTarget.Latest, true));
  return found;
}

function toText(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => placeholder + literal.text).join("");
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [toText(node.left), toText(node.right)];
  return left === undefined && right === undefined
    ? undefined
    : (left ?? placeholder) + (right ?? placeholder);
}

/**
 * Checks whether a quoted line consists of known messages. A line may join several messages, fill their placeholders, and
 * write … for what is left out.
 */
export function isKnownMessage(line: string, messages: readonly string[]): boolean {
  const isKnownInParts = line
    .split("…")
    .map((part) => part.trim())
    .every((part) => part === "" || isKnownPart(part, messages));
  return isKnownInParts || messages.some((message) => fillsPlaceholders(line, message));
}

function isKnownPart(part: string, messages: readonly string[]): boolean {
  if (messages.some((message) => message.includes(part) || fillsPlaceholders(part, message))) return true;
  // A prefix and a message, or two sentences, may be joined.
  const joint = /(?<=[.:;]) /g;
  for (let match = joint.exec(part); match !== null; match = joint.exec(part)) {
    const [before, after] = [part.slice(0, match.index), part.slice(match.index + 1)];
    if (isKnownPart(before, messages) && isKnownPart(after, messages)) return true;
  }
  return false;
}

/** Checks whether the part is the complete message, with a word or two in each placeholder. */
function fillsPlaceholders(part: string, message: string): boolean {
  if (!message.includes(placeholder) || message.replaceAll(placeholder, "").trim().length < 12) return false;
  const pattern = message
    .split(placeholder)
    .map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[\\w.:/, …-]*?");
  return new RegExp(`^${pattern}\\??$`).test(part);
}
