/**
 * Counts the files and functions of this repository that one operation runs, in a process that
 * loads the sources without a test runner.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

const measure = `
const { Session } = await import("node:inspector/promises");
await operation();
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await operation();
const { result } = await session.post("Profiler.takePreciseCoverage");
console.log(JSON.stringify(result));
process.exit();`;

interface Script {
  url: string;
  functions: { functionName: string; ranges: { count: number; startOffset: number }[] }[];
}

/**
 * Returns the functions that the second run of an operation calls, as `FILE FUNCTION`.
 * @param program the text of a module that defines the function `operation`.
 */
export async function listOwnFunctions(
  program: string,
): Promise<{ files: string[]; functions: string[] }> {
  const arguments_ = [
    "--conditions=@loyalty-cards/source",
    "--import",
    "tsx",
    "--input-type=module",
    "--eval",
  ];
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...arguments_, program + measure],
    options,
  );
  const functions = (JSON.parse(stdout) as Script[]).flatMap(({ url, functions }) => {
    const [, file] = /\/((?:packages\/[^/]+\/src|internal|openapi)\/.+\.ts)$/.exec(url) ?? [];
    if (file === undefined || url.includes("/node_modules/")) return [];
    return functions
      .filter(({ functionName }) => functionName !== "__name") // added by the transpiler
      .filter(
        ({ ranges: [range] }) => range !== undefined && range.count > 0 && range.startOffset > 0,
      )
      .map(({ functionName }) => `${file} ${functionName || "(anonymous)"}`);
  });
  return { files: [...new Set(functions.map((each) => each.split(" ")[0] as string))], functions };
}
