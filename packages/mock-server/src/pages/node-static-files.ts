/** The files of static/, read from disk. The build replaces this module by one that contains them, see tsup.config.ts. */
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../static/", import.meta.url);

/** By the path inside static/, with slashes: text, or the bytes of a PNG image. */
export const staticFiles: ReadonlyMap<string, string | Uint8Array<ArrayBuffer>> = new Map(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name))
    .sort()
    .map((name) => {
      const bytes = readFileSync(new URL(name, folder));
      return [name, name.endsWith(".png") ? Uint8Array.from(bytes) : bytes.toString()];
    }),
);
