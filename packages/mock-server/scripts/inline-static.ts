/** Writes the module of the pages' files; `--check` only says whether it is stale. */
import { readFileSync, writeFileSync } from "node:fs";
import { inlined } from "./static-module.ts";

const to = new URL("../src/pages/static-files.ts", import.meta.url);

const isStale = () => {
  try {
    return readFileSync(to, "utf8") !== inlined();
  } catch {
    return true;
  }
};

if (isStale()) {
  if (process.argv.includes("--check")) {
    console.error("packages/mock-server/src/pages/static-files.ts is stale: run npm run generate.");
    process.exitCode = 1;
  } else {
    writeFileSync(to, inlined());
    console.log("wrote packages/mock-server/src/pages/static-files.ts");
  }
}
