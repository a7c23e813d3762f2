/** Waits for a line of a child process. */
import type { ChildProcess } from "node:child_process";

/** The first line of a child's output that matches. @throws when it ends without one. */
export async function findLine(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += chunk;
    const found = pattern.exec(text);
    if (found !== null) return found;
  }
  throw new Error(`${pattern} was not printed, but ${JSON.stringify(text)}.`);
}
