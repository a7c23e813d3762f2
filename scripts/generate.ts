/** `npm run generate`: writes every file that derives from another one. The options are those of `openapi/scripts/generate.ts`. */
import { fileURLToPath } from "node:url";
import { generate } from "../openapi/scripts/generate.ts";

const folder = fileURLToPath(new URL("../openapi/", import.meta.url));
try {
  process.exitCode = await generate(process.argv.slice(2), { folder, print: console.log });
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error} Nothing was changed.`);
  process.exitCode = 2;
}
