/**
 * `npm run build`: builds the packages, as many at a time as there are processors. Their builds
 * read each other's sources, never `dist`.
 */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { published } from "../packages.ts";

const run = promisify(execFile);
const waiting = published.values();
const workers = Math.min(availableParallelism(), published.length);

async function buildNext(): Promise<void> {
  for (const { name, folder } of waiting) {
    console.log(`${name}: building`);
    const startedMs = performance.now();
    await run("npm", ["run", "build", "--silent"], {
      cwd: folder,
      maxBuffer: 2 ** 26,
      shell: process.platform === "win32", // there npm is a script
    }).catch(({ stdout, stderr }) => {
      throw new Error(`The build of ${name} failed.\n${stdout}${stderr}`);
    });
    console.log(`${name}: built in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  }
}

console.log(`Building ${published.length} packages, ${workers} at a time.`);
await Promise.all(Array.from({ length: workers }, buildNext));
