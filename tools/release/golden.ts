/**
 * Writes the golden files of the current version of each package that stores data: `compat/golden/PACKAGE/VERSION`. A folder that exists
 * stays as it is, unless `--overwrite` is passed. Another argument is the version, for packages that were never released.
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import {
  getFolder,
  getVersion,
  type PackageName,
  packageNames,
  unreleased,
  writeGolden,
} from "../../compat/golden/folders.ts";
import { root } from "../published.ts";

const args = process.argv.slice(2);
const [first] = args.filter((argument) => argument !== "--overwrite");

async function write(name: PackageName): Promise<void> {
  const current = getVersion(name);
  const version = current === unreleased ? first : current;
  if (version === undefined) {
    console.error(`${name} was never released. Pass its first version: npm run release -- golden 1.0.0`);
    process.exitCode = 1;
    return;
  }
  const folder = getFolder(name, version);
  const path = relative(root, folder);
  if (existsSync(folder) && !args.includes("--overwrite")) {
    console.log(`${path} exists, and stays as it is`);
    return;
  }
  await writeGolden(name, folder);
  console.log(`${path} is written`);
}

for (const name of packageNames) await write(name);
