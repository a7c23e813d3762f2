/** The demo succeeds only if every step succeeded. */
import { expect, it } from "vitest";
import { runDemo } from "./demo.ts";

it("succeeds and prints one line per step", async () => {
  const lines: string[] = [];
  expect(await runDemo((line) => lines.push(line))).toBe(true);
  expect(lines.filter((line) => /^[✓✗]/u.test(line)).map((line) => line.slice(0, 35).trim())).toEqual([
    "✓ The shop opens",
    "✓ Anna signs up",
    "✓ Anna sends the form again",
    "✓ A visitor omits the name",
    "✓ The shop records a purchase",
    "✓ The signed webhook arrives",
    "✓ An attacker changes that delivery",
  ]);
  expect(lines.filter((line) => line.startsWith("✓")).every((line) => /\d+ ms$/.test(line))).toBe(true);
});

it("fails at the step whose webhook was lost", async () => {
  const lines: string[] = [];
  const lost = () => new Response(null, { status: 204 });
  expect(await runDemo((line) => lines.push(line), { deliver: lost })).toBe(false);
  expect(lines.at(-1)).toMatch(/^✗ The signed webhook arrives +expected a balance of 120 in the shop/u);
});

it("fails when no card can be issued", async () => {
  const lines: string[] = [];
  const templates = [{ id: "tpl_other", name: "Other" }];
  expect(await runDemo((line) => lines.push(line), { templates })).toBe(false);
  expect(lines.at(-1)).toMatch(/^✗ Anna signs up +expected 201/u);
});
