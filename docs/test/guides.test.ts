/** What the guides say of messages, figures and pauses is so. */
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pausesMs } from "../../packages/mock-server/src/delivery/schedule.ts";
import { layers } from "../architecture.ts";
import { isMadeOf, messages, textsOf } from "../messages.ts";
import { readFromRoot } from "../snippets.ts";

const guides = readdirSync(new URL("../guides", import.meta.url)).filter((file) => file.endsWith(".md"));
const texts = messages();
const linesOf = (page: string) =>
  [...page.matchAll(/^```text\n([\s\S]*?)^```/gm)].flatMap(([, lines = ""]) => lines.trimEnd().split("\n"));

describe.each(guides)("%s", (guide) => {
  it("quotes only messages that there are", () => {
    const unknown = linesOf(readFromRoot(`docs/guides/${guide}`)).filter((line) => !isMadeOf(line, texts));
    expect(unknown).toEqual([]);
  });
});

it("there are messages quoted", () => {
  expect(linesOf(readFromRoot("docs/guides/troubleshooting.md")).length).toBeGreaterThan(30);
});

describe("a quoted message", () => {
  const known = textsOf(
    `throw new Error(\`The \${what} is lost: \${why ? "look for it" : ""}\`); log("a: " + b); log("One thing. " + "Another.");`,
  );
  it.each([
    ["The card is lost: look for it", true],
    ["The … is lost: look for it", true],
    ["One thing. Another.", true],
    ["The card was lost: look for it", false],
    ["Another thing.", false],
  ])("%s: %s", (line, isKnown) => {
    expect(isMadeOf(line, known)).toBe(isKnown);
  });
});

describe("the capacity table", () => {
  const page = readFromRoot("docs/guides/production.md");
  const measurements = readFromRoot("docs/measurements.md");
  const number = (cell = "") => Number(cell.replace(/[^\d.]/g, ""));
  const rows = [...page.matchAll(/^\| ([\d ]+) \| ([\d ]+) \| ([\d.]+) \| ([\d.]+) % \|$/gm)].map((row) =>
    row.slice(1).map(number),
  );

  it("stands on what was measured", () => {
    expect(measurements).toContain("at a steady 500 deliveries a second");
    for (const [, receiver, median, p99] of page.matchAll(
      /^\| ([\w-]+) \| ([\d.]+) ms \| ([\d.]+) ms \|$/gm,
    )) {
      expect(measurements).toContain(`| ${receiver} | ${median} | ${p99} |`);
    }
  });

  it("has no slip in its arithmetic", () => {
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
    const named = [...drawing("delivery-ladder").matchAll(/\+ (\d+) (minute|hour)s?</g)];
    const ms = named.map(([, count, unit]) => Number(count) * (unit === "hour" ? 3_600_000 : 60_000));
    expect(ms).toEqual(pausesMs);
  });

  it("the diagram of the layers agrees with the import rules", () => {
    const named = [...drawing("layers").matchAll(/class="title"[^>]*>([\w-]+)</g)].map(([, name]) => name);
    expect(named.sort()).toEqual(
      Object.keys(layers)
        .filter((name) => name !== "cli")
        .sort(),
    );
  });
});
