/** The command `loyalty-cards`. */
import { main } from "./main.ts";
import { processTerminal } from "./terminal.ts";

// The reader has enough, as with `| head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

process.exitCode = await main(process.argv.slice(2), processTerminal);
