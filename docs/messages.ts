/** Finds what the packages can write or throw, so that a page quotes no message that there is not. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Stands for what a template fills in: nothing that is quoted reaches across it, but for a …. */
const hole = "\u0000";

/** Every text in the sources of the packages: literals, templates with holes, and both joined by +. */
export function messages(): string[] {
  return readdirSync(join(root, "packages")).flatMap((name) => {
    const folder = join(root, "packages", name, "src");
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith("static-files.ts"))
      .flatMap((file) => textsOf(readFileSync(join(folder, file), "utf8")));
  });
}

export function textsOf(program: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text === undefined) ts.forEachChild(node, visit);
    else {
      found.push(text);
      if (ts.isTemplateExpression(node)) for (const { expression } of node.templateSpans) visit(expression);
    }
  };
  visit(ts.createSourceFile("a.ts", program, ts.ScriptTarget.Latest, true));
  return found;
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => hole + literal.text).join("");
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : (left ?? hole) + (right ?? hole);
}

/**
 * Whether a quoted line is made of texts that there are: sentences one after the other, each with holes filled, and … for
 * what is left out.
 */
export function isMadeOf(line: string, texts: readonly string[]): boolean {
  if (line.trim() === "" || /^(\s|…)*$/.test(line)) return true;
  const parts = line.split("…").map((part) => part.trim());
  return parts.every((part) => part === "" || isPart(part, texts));
}

function isPart(part: string, texts: readonly string[]): boolean {
  if (texts.some((text) => text.includes(part) || fills(part, text))) return true;
  // A prefix and a message, or two sentences, are joined where they are written.
  const joint = /(?<=[.:;]) /g;
  for (let match = joint.exec(part); match !== null; match = joint.exec(part)) {
    const [before, after] = [part.slice(0, match.index), part.slice(match.index + 1)];
    if (isPart(before, texts) && isPart(after, texts)) return true;
  }
  return false;
}

/** Whether the part is the whole of a text whose holes are filled with a word or two. */
function fills(part: string, text: string): boolean {
  if (!text.includes(hole) || text.replaceAll(hole, "").trim().length < 12) return false;
  const pattern = text.split(hole).map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${pattern.join("[\\w.:, -]*?")}\\??$`).test(part);
}
