/**
 * The client against a hostile service, in a process for each transport. HOSTILE_RESPONSES=20000
 * makes it longer; HOSTILE_SEED=N repeats a run.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const responses = Number(process.env["HOSTILE_RESPONSES"] ?? 300);
const seed = Number(process.env["HOSTILE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const program = fileURLToPath(new URL("../hostile-responses.ts", import.meta.url));

describe.each([
  ["node:http", []],
  ["node:http", ["undici"]],
  ["fetch", []],
  ["fetch", ["undici"]],
  ["undici", ["undici"]],
])("over %s, with %j loaded before", (over, preloaded) => {
  // G6, G7, G16
  it(`survives ${responses} responses (HOSTILE_SEED=${seed})`, {
    timeout: 120_000 + responses * 200,
  }, async () => {
    const args = ["--conditions=@loyalty-cards/source", "--import", "tsx", program];
    const run = promisify(execFile)(
      process.execPath,
      [...args, over, String(responses), String(seed), ...preloaded],
      { maxBuffer: 2 ** 26 },
    );
    const { stdout, stderr } = await run;
    const { ends, responses: sent, ...defects } = JSON.parse(stdout);
    if (responses > 1_000)
      process.stdout.write(`${over} ${preloaded}: ${sent} ${JSON.stringify(ends)}\n`);
    expect(defects).toEqual({
      uncaught: [],
      leftOpen: 0,
      late: [],
      leaked: [],
      foreign: [],
      falseCards: [],
    });
    expect(stderr).toBe("");
    expect(sent).toBeGreaterThanOrEqual(responses);
    // The run is worth something: calls succeeded, and failed in many ways.
    expect(ends["a card"]).toBeGreaterThan(0);
    expect(Object.keys(ends).length).toBeGreaterThan(5);
  });
});
