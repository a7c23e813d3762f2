/**
 * `npm run compat -- judge FOLDER`: judges the integration in a folder. Exits with 0 when every check passes, with 1 when one fails,
 * and with 2 when the folder cannot be judged.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { judge, type Result } from "./judge.ts";
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

const [folder] = positionals;
try {
  if (folder === undefined) throw new SettingsError("Name a folder.");
  const settings = readSettings(resolve(folder));
  const results = await judge(
    resolve(folder),
    { ...settings, ...(values.start && { start: values.start }) },
    { ...(values.only && { only: values.only }), ...(!values.json && { onResult: print }) },
  );
  const passed = results.every((result) => result.passed);
  if (values.json) console.log(JSON.stringify({ folder, passed, results }, null, 2));
  process.exitCode = passed ? 0 : 1;
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
