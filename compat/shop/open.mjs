/** `npm run shop`: the Next example with the mock service beside it, until Ctrl-C. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { env, openWorkshop } from "./workshop.mjs";

console.log("Installing and building the shop…");
const workshop = openWorkshop();
try {
  workshop.build();
  const shop = spawn("npm", ["start"], { cwd: workshop.folder, env, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => shop.kill(signal));
  await once(shop, "exit");
} finally {
  workshop.close();
}
