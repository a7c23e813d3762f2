/** The root of the repository, and runs programs in a folder. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** A user's own npm settings, not those of this repository. */
export const userEnvironment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  NEXT_TELEMETRY_DISABLED: "1",
};

/**
 * Runs a program without a shell, except npm on Windows, where it is a script.
 * @returns what it printed.
 * @throws with what it printed.
 */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env = process.env,
): string {
  const shell = process.platform === "win32" && command === "npm";
  const result = spawnSync(command, args, {
    cwd,
    env,
    shell,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (result.status === 0) return result.stdout;
  const { error, stdout, stderr } = result;
  throw new Error(`${command} ${args.join(" ")} failed: ${error ?? ""}\n${stdout}${stderr}`);
}
