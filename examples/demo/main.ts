/** `npm run demo`: exits with 0 only if every step succeeded. With `--keep` the shop and the service run until Ctrl-C. */
import { parseArgs, styleText } from "node:util";
import { watchParent } from "@loyalty-cards/internal/node-parent";
import { runDemo } from "./demo.ts";

const { values } = parseArgs({
  options: { keep: { type: "boolean", default: false } },
});

const interrupted = () =>
  new Promise<void>((stop) => {
    process.once("SIGINT", stop).once("SIGTERM", stop); // a second Ctrl-C ends the process at once
    watchParent(stop);
  });

const colors = { "✓": "green", "✗": "red" } as const;
const print = (line: string) =>
  console.log(
    line.replace(/^[✓✗]/u, (mark) =>
      styleText(colors[mark as keyof typeof colors], mark),
    ),
  );

const succeeded = await runDemo(
  print,
  values.keep ? { keepUntil: interrupted() } : {},
);
process.exitCode = succeeded ? 0 : 1;
