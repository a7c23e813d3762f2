/**
 * `npm run release -- pack FOLDER`: packs every published package, and writes the digests of the tarballs. With LOYALTY_CARDS_TARBALLS=FOLDER
 * all checks use these tarballs, so a release publishes the bytes that were tested.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { published } from "../published.ts";
import { npmPack } from "./pack.ts";

const destination = resolve(process.argv[2] ?? "tarballs");
mkdirSync(destination, { recursive: true });
const lines = published.map(({ folder }) => {
  const { file } = npmPack(folder, destination);
  const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
  return `${digest}  ${basename(file)}\n`;
});
writeFileSync(join(destination, "SHA256SUMS"), lines.join(""));
console.log(lines.join(""));
