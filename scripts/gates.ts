/** Runs the commands that must all succeed, says how long each took, and shows what a failing one said. */
import { spawnSync } from "node:child_process";

export interface Gate {
  name: string;
  command: string;
  /** Why it runs on Linux only; elsewhere it is named as skipped. */
  linuxOnly?: string;
}

/** How many failed. */
export function runGates(gates: readonly Gate[], env: NodeJS.ProcessEnv = process.env): number {
  let failures = 0;
  for (const { name, command, linuxOnly } of gates) {
    if (linuxOnly !== undefined && process.platform !== "linux") {
      console.log(`– ${name.padEnd(40)} skipped: ${linuxOnly}`);
      continue;
    }
    const startedMs = performance.now();
    const { status, stdout, stderr } = spawnSync(command, {
      shell: true,
      env,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
    console.log(`${status === 0 ? "✓" : "✗"} ${name.padEnd(40)}${seconds} s`);
    if (status === 0) continue;
    failures += 1;
    console.log(stdout, stderr);
  }
  if (failures > 0) console.log(`${failures} of ${gates.length} gates failed.`);
  return failures;
}
