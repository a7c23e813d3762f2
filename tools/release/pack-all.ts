/** `npm run release -- pack FOLDER`: packs every published package, as it was built and tested, and writes the digests of the tarballs. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { published } from "../published.ts";
import { pack } from "./pack.ts";

const destination = resolve(process.argv[2] ?? "tarballs");
mkdirSync(destination, { recursive: true });
const lines = published.map(({ folder }) => {
  const { file } = pack(folder, destination);
  const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
  return `${digest}  ${basename(file)}\n`;
});
writeFileSync(join(destination, "SHA256SUMS"), lines.join(""));
console.log(lines.join(""));
