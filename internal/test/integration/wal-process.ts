/**
 * A program with a file of jobs, which a test kills. It executes a command for each line of its
 * input, and prints what came of it.
 */
import { copyFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { openJobsFile } from "./jobs-file.ts";

const [, , file = ""] = process.argv;
const database = openJobsFile(file);
const commands: Record<string, (name: string) => unknown> = {
  add: database.add,
  list: () => database.list().join(),
  tidy: database.tidy,
  close: database.close,
  /** As a backup would. It closes a descriptor of the file. */
  copy: () => copyFileSync(file, `${file}-copy`),
};
function execute(command: string, name: string): unknown {
  try {
    return commands[command]?.(name) ?? "done";
  } catch (error) {
    return (error as Error).message;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command = "", name = ""] = line.split(" ");
  process.stdout.write(`${execute(command, name)}\n`);
}
