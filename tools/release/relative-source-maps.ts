/** A tsup plugin: makes the absolute paths in the source maps of CommonJS relative, so that every machine builds the same files. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { Options } from "tsup";

type Plugin = NonNullable<Options["plugins"]>[number];

export const relativeSourceMaps: Plugin = {
  name: "relative-source-maps",
  buildEnd({ writtenFiles }) {
    for (const { name } of writtenFiles) {
      if (!name.endsWith(".map")) continue;
      const map = JSON.parse(readFileSync(name, "utf8")) as { file?: string; sources: string[] };
      const near = (path: string) =>
        isAbsolute(path) ? relative(dirname(resolve(name)), path).replaceAll("\\", "/") : path;
      const file = map.file === undefined ? {} : { file: near(map.file) };
      writeFileSync(name, JSON.stringify({ ...map, ...file, sources: map.sources.map(near) }));
    }
  },
};
