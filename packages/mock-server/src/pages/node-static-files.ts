/** The files of static/, read from disk. The build replaces this module by one that contains them, see tsup.config.ts. */
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../static/", import.meta.url);

/** By the path inside static/, with slashes. */
export const staticFiles: ReadonlyMap<string, string> = new Map(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name))
    .sort()
    .map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
);
