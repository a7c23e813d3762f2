/** Packs what was built, as `npm publish` would; packing by itself would build again. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export interface Tarball {
  /** Where it lies, when it was written. */
  file: string;
  /** `sha512-…` of its bytes. */
  integrity: string;
  /** What is in it, relative to the package. */
  paths: string[];
  size: number;
}

/** Into the destination; without one nothing is written, and the checksum is the same. */
export function pack(folder: string, destination?: string): Tarball {
  const where = destination === undefined ? ["--dry-run"] : ["--pack-destination", destination];
  const args = ["pack", "--json", "--silent", "--ignore-scripts", ...where];
  const said = execFileSync("npm", args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32", // there npm is a script
  });
  const [tarball] = Object.values(JSON.parse(said)) as NpmTarball[]; // a list, or in newer npm a record
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
