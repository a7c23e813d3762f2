/** Questions to the person at the terminal. Without a clear yes the reply is no. */
import { type Part, text } from "./printable.ts";
import type { Printer } from "./printer.ts";
import type { Terminal } from "./terminal.ts";

/** Asks a question, and resolves with whether the reply is yes. */
export type Ask = (question: Part) => Promise<boolean>;

/** @returns a function that prints a question on stderr, and reads the reply from stdin. */
export function createAsk({ stdin }: Pick<Terminal, "stdin">, print: Printer): Ask {
  // One iterator for all questions: a loop over stdin closes it when it ends.
  let chunks: AsyncIterator<Uint8Array> | undefined;
  let typed = "";
  return async (question) => {
    print.question(text`${question} [y/N]`.reflow(print.messageColumns));
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
