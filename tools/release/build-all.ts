/** `npm run build`: builds the packages, as many at a time as there are processors. Their builds read each other's sources, never `dist`. */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { published } from "../published.ts";

const run = promisify(execFile);
const waiting = published.values();

async function buildNext(): Promise<void> {
  for (const { name, folder } of waiting) {
    await run("npm", ["run", "build", "--silent"], {
      cwd: folder,
      maxBuffer: 2 ** 26,
      shell: process.platform === "win32", // there npm is a script
    }).catch(({ stdout, stderr }) => {
      throw new Error(`The build of ${name} failed.\n${stdout}${stderr}`);
    });
    console.log(`built ${name}`);
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, buildNext));
