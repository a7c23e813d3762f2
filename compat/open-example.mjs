/** `npm run compat -- open next` or `open workers`: an example that has its own lock file, with the mock service, until Ctrl-C. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { userEnvironment } from "../tools/published.ts";
import { installExample } from "./next/project.mjs";

console.log("Installing and building the example…");
const { folder, run, remove } = installExample(process.argv[2]);
try {
  run("npm", ["run", "build", "--if-present"]);
  const example = spawn("npm", ["start"], { cwd: folder, env: userEnvironment, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => example.kill(signal));
  await once(example, "exit");
} finally {
  remove();
}
