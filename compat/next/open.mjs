/** `npm run shop`: the Next example and the mock service, until Ctrl-C. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { env, installProject } from "./project.mjs";

console.log("Installing and building the shop…");
const project = installProject();
try {
  project.build();
  const shop = spawn("npm", ["start"], { cwd: project.folder, env, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => shop.kill(signal));
  await once(shop, "exit");
} finally {
  project.remove();
}
