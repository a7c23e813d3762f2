/**
 * `npm run compat -- judge FOLDER`: judges the integration in a folder. Exits with 0 when every check passes, with 1 when one fails,
 * and with 2 when the folder cannot be judged. `--json` prints the results as JSON, `--only CHECK` runs one check, `--start COMMAND`
 * replaces the command of judge.json. Without a folder it judges the examples, the integrations and the planted mistakes.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { integrations, judgeIntegration, judgeMistake, sourceEnvironment } from "./integrations.ts";
import { checks, judge, type Result } from "./judge.ts";
import { mistakes } from "./mistakes.ts";
import { readSettings, SettingsError } from "./settings.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    start: { type: "string" },
    only: { type: "string", multiple: true },
  },
});

function print({ name, title, passed, seconds, seen = "", advice = "" }: Result): void {
  console.log(`${passed ? "✓" : "✗"} ${name}: ${title} (${seconds} s)`);
  for (const line of passed ? [] : [...seen.split("\n"), advice]) console.log(`    ${line}`);
}

function requireKnownChecks(only: readonly string[] = []): void {
  const names = checks.map(({ name }) => name);
  for (const name of only)
    if (!names.includes(name))
      throw new SettingsError(`Unknown check "${name}". The checks are ${names.join(", ")}.`);
}

async function judgeFolder(folder: string): Promise<boolean> {
  requireKnownChecks(values.only);
  const settings = { ...readSettings(folder), ...(values.start && { start: values.start }) };
  const results = await judge(folder, settings, {
    env: sourceEnvironment(folder),
    ...(values.only && { only: values.only }),
    ...(!values.json && { onResult: print }),
  });
  const passed = results.every((result) => result.passed);
  if (values.json) console.log(JSON.stringify({ folder, passed, results }, null, 2));
  return passed;
}

async function judgeEverything(): Promise<boolean> {
  const wrong: string[] = [];
  const addRow = (isRight: boolean, name: string, text: string, startedMs: number) => {
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    console.log(`${isRight ? "✓" : "✗"} ${name.padEnd(72)} ${`${seconds} s`.padStart(6)}  ${text}`);
    if (!isRight) wrong.push(name);
  };
  for (const integration of integrations) {
    const startedMs = performance.now();
    const failed = (await judgeIntegration(integration)).filter(({ passed }) => !passed);
    const text = failed.length === 0 ? `${checks.length} checks` : failed.map(({ name }) => name).join(", ");
    addRow(failed.length === 0, integration.name, text, startedMs);
    failed.forEach(print);
  }
  for (const mistake of mistakes) {
    const startedMs = performance.now();
    const failed = (await judgeMistake(mistake)).filter(({ passed }) => !passed).map(({ name }) => name);
    const isFound = failed.join() === mistake.foundBy;
    addRow(isFound, `mistake: ${mistake.name}`, `found by ${failed.join(", ") || "no check"}`, startedMs);
  }
  return wrong.length === 0;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const [folder] = positionals;
try {
  const passed = await (folder === undefined ? judgeEverything() : judgeFolder(resolve(folder)));
  process.exitCode = passed ? 0 : 1;
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
