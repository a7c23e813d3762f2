/** The tarball of a built package, as `npm publish` sends it; nothing is built again. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Manifest, root } from "../published.ts";

export interface Tarball {
  /** Its path, when it was written. */
  file: string;
  /** `sha512-…` of its bytes. */
  integrity: string;
  /** What is in it, relative to the package. */
  paths: string[];
  size: number;
}

/** The folder of tarballs that a release publishes, from `npm run release -- pack`. With it, all checks use them. */
export const releaseFolder =
  process.env.LOYALTY_CARDS_TARBALLS && resolve(root, process.env.LOYALTY_CARDS_TARBALLS);

/** The tarball of the release, or without one a new tarball. Without a destination nothing is written; the checksum is the same. */
export const pack = (folder: string, destination?: string): Tarball =>
  releaseFolder ? takeFrom(releaseFolder, folder, destination) : npmPack(folder, destination);

function takeFrom(tarballs: string, folder: string, destination = tarballs): Tarball {
  const { name, version }: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const filename = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  const bytes = readFileSync(join(tarballs, filename));
  const file = join(destination, filename);
  if (destination !== tarballs) copyFileSync(join(tarballs, filename), file);
  const listed = execFileSync("tar", ["--list", "--file", filename], { cwd: tarballs, encoding: "utf8" });
  return {
    file,
    integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
    paths: listed
      .trimEnd()
      .split("\n")
      .map((path) => path.replace("package/", "")),
    size: bytes.length,
  };
}

/** Packs, also when there is a tarball of the release. */
export function npmPack(folder: string, destination?: string): Tarball {
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
