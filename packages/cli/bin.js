#!/usr/bin/env node
/** The command. It is outside dist/, so that npm links it in a clone before the first build. */
import { existsSync, readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const minimum = engines.node.replace(">=", "");
const [major, minor] = process.versions.node.split(".").map(Number);
const [minimumMajor, minimumMinor] = minimum.split(".").map(Number);
if (major < minimumMajor || (major === minimumMajor && minor < minimumMinor)) {
  console.error(
    `loyalty-cards needs Node.js ${minimum} or newer, and this process runs ${process.versions.node}: upgrade Node.js.`,
  );
  process.exit(2);
}
if (!existsSync(new URL("dist/bin.js", import.meta.url))) {
  console.error(
    "loyalty-cards is not built in this clone: run npm run build. `npm run dev` needs no build.",
  );
  process.exit(2);
}
// Not a static import: those are resolved first, and need exports that an older Node.js lacks.
await import("./dist/bin.js");
