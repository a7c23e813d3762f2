/**
 * The simulation as its command runs it: clean histories, equal traces, kept failures, and planted
 * faults.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { plantedFaults } from "./faults.ts";
import regressions from "./regressions.json" with { type: "json" };
import { World } from "./world.ts";

const root = join(import.meta.dirname, "../..");

/**
 * @returns what the command prints.
 * @throws when its exit code is not 0; the message has the timeline.
 */
async function simulate(...options: string[]): Promise<string> {
  const file = "compat/simulation/simulate.ts";
  const flags = ["--conditions=@loyalty-cards/source", "--import", "tsx", file, ...options];
  const { stdout } = await promisify(execFile)(process.execPath, flags, {
    cwd: root,
    maxBuffer: 1e8,
  });
  return stdout;
}

it("keeps every guarantee in 100 histories, and gives the same trace for the same seed", {
  timeout: 600_000,
}, async () => {
  const [first, second] = await Promise.all(
    ["100", "10"].map((count) => simulate("--seed", "1", "--histories", count, "--digest")),
  );
  expect(first).toContain("100 histories kept every guarantee");
  const digests = (output = "") => output.match(/^\d+ [0-9a-f]{16}$/gm);
  expect(digests(second)).toHaveLength(10);
  expect(digests(first)?.slice(0, 10)).toEqual(digests(second));
});

it("keeps every guarantee in the histories that broke one", { timeout: 600_000 }, async () => {
  expect(regressions.length).toBeGreaterThan(0);
  expect(await simulate("--kept")).toContain(
    `${regressions.length} histories kept every guarantee`,
  );
});

it("finds a planted fault, and names its guarantee", { timeout: 600_000 }, async () => {
  const output = await simulate(
    "--seed",
    "1",
    "--histories",
    "50",
    "--faults",
    "each try of the outbox",
  );
  expect(output).toContain("1 of 1 found");
});

it("ends a history that never comes to rest", async () => {
  const world = new World(1, 100);
  const repeat = () => void world.after(0, repeat);
  repeat();
  await world.runUntil(1);
  expect(world.isExhausted).toBe(true);
});

it.each(plantedFaults)("can plant: $name", ({ file, find }) => {
  const parts = readFileSync(join(root, file), "utf8").split(find);
  const advice = `${file} must contain this text once; correct compat/simulation/faults.ts: ${find}`;
  expect(parts, advice).toHaveLength(2);
});
