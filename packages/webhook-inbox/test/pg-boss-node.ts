/** Which Node.js runs pg-boss 12: 22.12 or later. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** Whether this process can use pg-boss. */
export const runsPgBoss = major > 22 || (major === 22 && minor >= 12);

/** The Node.js 24 that `npm run compat` installs. */
const node24 = fileURLToPath(new URL("../../../compat/node_modules/node-24/bin/node", import.meta.url));
/** The program for receivers with pg-boss; undefined when there is none. */
export const pgBossNode = runsPgBoss ? process.execPath : existsSync(node24) ? node24 : undefined;
