/** Every cited clause of the specification has its anchor in docs/specification.md, and every open point its row in the assumptions. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { operations } from "@loyalty-cards/openapi/operations";
import { expect, it } from "vitest";
import { readFromRoot } from "../snippets.ts";

const root = new URL("../../../", import.meta.url);
const page = "docs/specification.md";
const assumptions = "docs/assumptions.md";

/** Folders and files of other authors, which cite other specifications, or generated ones. */
const skipped = /^(\..+|node_modules|cache|dist|coverage|reference|reports|CHANGELOG\.md|THIRD-PARTY\.md)$/;
const isText = /\.(ts|tsx|mts|js|mjs|vue|md|yaml)$/;

function listFiles(folder: string): string[] {
  return readdirSync(new URL(folder, root), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (skipped.test(entry.name) && entry.name !== ".vitepress") return [];
    if (entry.isDirectory()) return listFiles(`${path}/`);
    return isText.test(entry.name) ? [path] : [];
  });
}

interface Line {
  /** `docs/assumptions.md:12`. */
  place: string;
  text: string;
}

const readLines = (file: string): Line[] =>
  readFromRoot(file)
    .split("\n")
    .map((text, index) => ({ place: `${file}:${index + 1}`, text }));

const readAnchors = (file: string) =>
  [...readFromRoot(file).matchAll(/<a id="([\w-]+)">/g)].map(([, id = ""]) => id);

const toAnchor = (clause: string) => `spec-${clause.replaceAll(".", "-")}`;

/** Returns the clauses that a line cites: "spec 4.4, 4.5", "[spec 4.4](…#spec-4-4) and [4.5](…)", `clause: "4.4"` in the doctor, `x-spec: "4.4"`. */
function findClauses(text: string): string[] {
  const plain = text.replace(/\[((?:spec )?\d[\d.]*)\]\([^)]*\)/g, "$1");
  return [
    ...plain.matchAll(/\b(?:spec |clause: "|x-spec: ")(\d+(?:\.\d+)*(?:(?:, | and )\d+(?:\.\d+)*)*)/g),
  ].flatMap(([, list = ""]) => list.split(/, | and /));
}

const lines = listFiles("").flatMap(readLines);
const anchors = new Set(readAnchors(page));
const rows = [...readFromRoot(assumptions).matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = ""]) => name);

it("finds one clause and several, in words and in links", () => {
  expect(findClauses("(spec 4.1.5); and (spec 4.4, 4.5), spec 7, RFC 9457")).toEqual([
    "4.1.5",
    "4.4",
    "4.5",
    "7",
  ]);
  expect(
    findClauses("([spec 4.1](specification.md#spec-4-1) and [4.2](specification.md#spec-4-2))."),
  ).toEqual(["4.1", "4.2"]);
  expect(findClauses('clause: "6.3.1", x-spec: "6.2, 6.3.4"')).toEqual(["6.3.1", "6.2", "6.3.4"]);
});

it("has every clause that the repository cites", () => {
  const cited = lines.flatMap(({ place, text }) => findClauses(text).map((clause) => ({ place, clause })));
  expect(cited.length).toBeGreaterThan(150);
  const missing = cited.filter(({ clause }) => !anchors.has(toAnchor(clause)));
  expect(
    missing.map(({ place, clause }) => `${place} cites spec ${clause}, which ${page} does not have`),
  ).toEqual([]);
});

it("has the anchor of every link to it, and the anchor of the clause that the link names", () => {
  const link = /(?:\[(?:spec )?(\d[\d.]*)\]\([^)\s]*)?\bspecification(?:\.md)?#([\w-]+)/g;
  const broken = lines.flatMap(({ place, text }) =>
    [...text.matchAll(link)]
      .filter(([, clause, anchor = ""]) => {
        const isOther = clause !== undefined && toAnchor(clause) !== anchor;
        return isOther || !anchors.has(anchor);
      })
      .map(([, , anchor]) => `${place} links to #${anchor}, which is another clause or none of ${page}`),
  );
  expect(broken).toEqual([]);
});

it("has an anchor for each clause, in the order of their numbers", () => {
  const numbers = [...readFromRoot(page).matchAll(/(?:^##+ |\*\*)(\d+(?:\.\d+)*)/gm)].map(
    ([, number = ""]) => number,
  );
  expect([...anchors]).toEqual(numbers.map(toAnchor));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })));
});

it("links each point that is not specified to its row in the assumptions", () => {
  const text = readFromRoot(page);
  const points = [...text.matchAll(/\bnot specified\b(?!\*)[\s\S]*?(?=\n\n|\n- |\n\||$)/gi)];
  expect(points.length).toBeGreaterThan(15);
  const problems = points.flatMap(({ 0: point, index }) => {
    const place = `${page}:${text.slice(0, index).split("\n").length}`;
    const linked = [...point.matchAll(/\(assumptions\.md#([\w-]+)\)/g)].map(([, name = ""]) => name);
    if (linked.length === 0) return [`${place} has an open point without a link to ${assumptions}`];
    const unknown = linked.filter((name) => !rows.includes(name));
    return unknown.map((name) => `${place} links to ${name}, which is no row of ${assumptions}`);
  });
  expect(problems).toEqual([]);
});

it("lists each operation and each event type of the OpenAPI document", () => {
  const text = readFromRoot(page);
  const endpoints = Object.values(operations).map(({ method, path }) => `| ${method} | \`${path}\` |`);
  const events = Object.keys(openapi.webhooks).map((type) => `| \`${type}\` |`);
  const missing = [...endpoints, ...events].filter((row) => !text.includes(row));
  expect(missing, `${page} needs a row that begins so: endpoints in 4, events in 6.2`).toEqual([]);
});

it("finds each row of the assumptions by its anchor", () => {
  expect(readAnchors(assumptions)).toEqual(rows);
});
