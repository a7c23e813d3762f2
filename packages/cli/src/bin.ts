/** The command `loyalty-cards`. */
import { main } from "./main.ts";
import { processTerminal } from "./terminal.ts";

// The reader has enough, as with `| head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});
// The messages for people have no reader any more, as with `2>&1 | head`. What the command does goes on.
process.stderr.on("error", () => {});

process.exitCode = await main(process.argv.slice(2), processTerminal);
