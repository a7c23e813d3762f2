/** Packs a built package as `npm publish` does, without building it again. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export interface Tarball {
  /** Its path, when it was written. */
  file: string;
  /** `sha512-…` of its bytes. */
  integrity: string;
  /** What is in it, relative to the package. */
  paths: string[];
  size: number;
}

/** Without a destination nothing is written; the checksum is the same. */
export function pack(folder: string, destination?: string): Tarball {
  const where = destination === undefined ? ["--dry-run"] : ["--pack-destination", destination];
  const args = ["pack", "--json", "--silent", "--ignore-scripts", ...where];
  const output = execFileSync("npm", args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32", // there npm is a script
  });
  const [tarball] = Object.values(JSON.parse(output)) as NpmTarball[]; // an array, or in newer npm an object
  if (tarball === undefined) throw new Error(`npm packed nothing in ${folder}`);
  return {
    file: join(destination ?? folder, tarball.filename),
    integrity: tarball.integrity,
    paths: tarball.files.map(({ path }) => path),
    size: tarball.size,
  };
}

interface NpmTarball {
  filename: string;
  integrity: string;
  size: number;
  files: { path: string }[];
}
