/** Checks the messages in the guides and error pages, and the figures and delays in the guides, against the sources. */
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { retryDelaysMs } from "../../../packages/mock-server/src/delivery/deliveries.ts";
import { layers } from "../../checks/import-rules.ts";
import { root } from "../../published.ts";
import { isKnownMessage, parseStrings, readMessages } from "../messages.ts";
import { readFromRoot } from "../snippets.ts";

const pages = ["docs/guides", "docs/errors"].flatMap((folder) =>
  readdirSync(new URL(`../../../${folder}`, import.meta.url))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `${folder}/${file}`),
);
const messages = readMessages();
const readQuotedLines = (page: string) =>
  [...page.matchAll(/^```text\n([\s\S]*?)^```/gm)].flatMap(([, lines = ""]) => lines.trimEnd().split("\n"));

describe.each(pages)("%s", (page) => {
  it("quotes only messages that are in the sources", () => {
    const unknown = readQuotedLines(readFromRoot(page)).filter((line) => !isKnownMessage(line, messages));
    expect(unknown).toEqual([]);
  });
});

it("the pages quote messages", () => {
  expect(pages.flatMap((page) => readQuotedLines(readFromRoot(page))).length).toBeGreaterThan(50);
});

describe("a quoted message", () => {
  const known = parseStrings(
    `throw new Error(\`The \${what} is lost: \${why ? "look for it" : ""}\`); log("a: " + b); log("One thing. " + "Another.");`,
  );
  it.each([
    ["The card is lost: look for it", true],
    ["The … is lost: look for it", true],
    ["The card is lost: …", true],
    ["One thing. Another.", true],
    ["The card was lost: look for it", false],
    ["Another thing.", false],
  ])("%s: %s", (line, isKnown) => {
    expect(isKnownMessage(line, known)).toBe(isKnown);
  });
});

describe("the capacity table", () => {
  const page = readFromRoot("docs/guides/production.md");
  const number = (cell = "") => Number(cell.replace(/[^\d.]/g, ""));
  const rows = [...page.matchAll(/^\| ([\d ]+) \| ([\d ]+) \| ([\d.]+) \| ([\d.]+) % \|$/gm)].map((row) =>
    row.slice(1).map(number),
  );

  it("has the rate that is measured", () => {
    expect(page).toContain("a steady **500 deliveries per second**");
    expect(readFromRoot("benchmarks/steady-sender.mjs")).toContain("const perSecond = 500;");
    expect(readFromRoot("benchmarks/subjects/inbox.mjs")).toContain(
      '"Response time at 500 deliveries a second"',
    );
  });

  it("computes its figures correctly", () => {
    expect(rows).toHaveLength(4);
    for (const [members = 0, aDay = 0, aSecond = 0, percent = 0] of rows) {
      expect(Math.round((members * 4 * 2) / 30)).toBe(aDay);
      expect(Math.abs(aDay / 3600 / aSecond - 1)).toBeLessThan(0.01);
      expect(Math.abs(aSecond / 5 / percent - 1)).toBeLessThan(0.02);
    }
  });
});

describe("diagrams", () => {
  const drawing = (name: string) => readFromRoot(`docs/diagrams/${name}.svg`);

  it("the diagram of the retries has the delays of the schedule", () => {
    const named = [...drawing("retry-schedule").matchAll(/\+ (\d+) (minute|hour)s?</g)];
    const ms = named.map(([, count, unit]) => Number(count) * (unit === "hour" ? 3_600_000 : 60_000));
    expect(ms).toEqual(retryDelaysMs);
  });

  it("the diagram of the layers agrees with the import rules", () => {
    const named = [...drawing("layers").matchAll(/class="title"[^>]*>([\w-]+)</g)].map(([, name]) => name);
    expect(named.sort()).toEqual(
      layers
        .flat()
        .map((folder) => basename(folder))
        .sort(),
    );
  });
});

it("the architecture page names existing files in its request paths", () => {
  const page = readFromRoot("docs/architecture.md");
  const paths = page.slice(page.indexOf("## Request paths"), page.indexOf("## Dependencies"));
  const named = [...paths.matchAll(/`([a-z][\w/-]*\w)`/g)].map(([, name = ""]) => name);
  const files = ["packages", "internal"].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: "utf8" }),
  );
  const known = ["emit", "retryDelaysMs"]; // functions and values
  expect(named.length).toBeGreaterThan(40);
  expect(
    named.filter(
      (name) => !known.includes(name) && !files.some((file) => new RegExp(`/${name}\\.[jt]s$`).test(file)),
    ),
  ).toEqual([]);
});
