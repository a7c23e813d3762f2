/** `npm run demo`: exits with 0 only if every step succeeded. */
import { runDemo } from "./demo.ts";

const succeeded = await runDemo((line) => console.log(line));
process.exitCode = succeeded ? 0 : 1;
