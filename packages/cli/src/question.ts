/** Questions to the person at the terminal. Without a clear yes the reply is no. */
import type { Terminal } from "./terminal.ts";

/** @returns a function that prints a question on stderr, and reads the reply from stdin. */
export function createAsk({ stdin, stderr }: Terminal): (question: string) => Promise<boolean> {
  // One iterator for all questions: a loop over stdin closes it when it ends.
  let chunks: AsyncIterator<Uint8Array> | undefined;
  let typed = "";
  return async (question) => {
    stderr.write(question);
    stdin.ref?.();
    chunks ??= stdin[Symbol.asyncIterator]();
    while (!typed.includes("\n")) {
      const next = await chunks.next();
      if (next.done) break;
      typed += Buffer.from(next.value).toString("utf8");
    }
    stdin.unref?.(); // the process ends without waiting for another line
    const [reply = "", ...rest] = typed.split("\n");
    typed = rest.join("\n");
    return /^y(?:es)?$/i.test(reply.trim());
  };
}
