/**
 * The packages that are published to npm: every folder of `packages/` whose manifest is not
 * private; and their entry points.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readEntries } from "./release/build.ts";
import { root } from "./run.ts";

/** The members of a package.json that the scripts read. */
export interface Manifest {
  name: string;
  private?: boolean;
  license?: string;
  files?: string[];
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  exports?: Record<string, unknown>;
  [member: string]: unknown;
}

export interface Published {
  /** Its folder in `packages/`, which is also its name without the scope. */
  name: string;
  folder: string;
  manifest: Manifest;
}

export const published: readonly Published[] = readdirSync(join(root, "packages"))
  .map((name) => {
    const folder = join(root, "packages", name);
    const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return { name, folder, manifest };
  })
  .filter(({ manifest }) => !manifest.private);

/**
 * The entry points of all packages: the package's name without scope, what a program imports, and
 * the file of the source.
 */
export const entryPoints = published.flatMap(({ name, folder, manifest }) =>
  Object.entries(readEntries(manifest.exports ?? {})).map(([entry, source]) => ({
    name,
    specifier: manifest.name + (entry === "index" ? "" : `/${entry}`),
    source: join(folder, source),
  })),
);
