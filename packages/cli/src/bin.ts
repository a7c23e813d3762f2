/** The command `loyalty-cards`. */
import { describeSystemError, exitCodes } from "./command-error.ts";
import { main } from "./main.ts";
import { text } from "./printable.ts";
import { Printer, processTerminal } from "./printer.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(); // the reader has ended, as with `| head`
  new Printer(processTerminal).error(
    text`loyalty-cards: stdout: ${describeSystemError(error) ?? "failed"}`,
  );
  process.exit(exitCodes.failed);
});
// The reader of stderr has ended, as with `2>&1 | head`. The command continues.
process.stderr.on("error", () => {});

// node:sqlite is experimental in Node.js 22 and 24, which users of the command need not know.
const printWarning = process.listeners("warning");
process.removeAllListeners("warning");
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") for (const print of printWarning) print(warning);
});

process.exitCode = await main(process.argv.slice(2), processTerminal);
