/**
 * The tarball of a built package, as `npm publish` sends it; nothing is built again.
 * `npm run release:pack FOLDER` packs every package, and writes the digests. With
 * LOYALTY_CARDS_TARBALLS=FOLDER all checks use these tarballs, so a release publishes the bytes
 * that were tested.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Manifest, published } from "../packages.ts";
import { root, run } from "../run.ts";

const releaseFolder =
  process.env.LOYALTY_CARDS_TARBALLS && resolve(root, process.env.LOYALTY_CARDS_TARBALLS);

/**
 * Copies the tarball of the release to the folder, or without one packs anew.
 * @returns the file.
 */
export function pack(folder: string, destination: string): string {
  if (!releaseFolder) return npmPack(folder, destination);
  const { name, version }: Manifest = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const filename = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  copyFileSync(join(releaseFolder, filename), join(destination, filename));
  return join(destination, filename);
}

function npmPack(folder: string, destination: string): string {
  const args = [
    "pack",
    "--json",
    "--silent",
    "--ignore-scripts",
    "--pack-destination",
    destination,
  ];
  const [tarball] = Object.values(JSON.parse(run("npm", args, folder))) as { filename: string }[]; // an array, or in newer npm an object
  if (tarball === undefined) throw new Error(`npm packed nothing in ${folder}`);
  return join(destination, tarball.filename);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const destination = resolve(process.argv[2] ?? "tarballs");
  mkdirSync(destination, { recursive: true });
  const lines = published.map(({ folder }) => {
    const file = npmPack(folder, destination);
    const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
    return `${digest}  ${basename(file)}\n`;
  });
  writeFileSync(join(destination, "SHA256SUMS"), lines.join(""));
  console.log(lines.join(""));
}
