/** `npm run demo`: exit code 0 only if every step really happened. */
import { runDemo } from "./demo.ts";

const everythingHappened = await runDemo((line) => console.log(line));
process.exitCode = everythingHappened ? 0 : 1;
