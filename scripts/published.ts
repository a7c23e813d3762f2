/** The packages that npm gets: every folder of `packages/` whose manifest is not private. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** What we read of a package.json. */
export interface Manifest {
  name: string;
  private?: boolean;
  description?: string;
  keywords?: string[];
  homepage?: string;
  bugs?: { url?: string };
  license?: string;
  repository?: { type?: string; url?: string; directory?: string };
  type?: string;
  engines?: { node?: string };
  sideEffects?: boolean;
  bin?: Record<string, string>;
  files?: string[];
  main?: string;
  module?: string;
  types?: string;
  exports?: Exports;
  typesVersions?: { "*"?: Record<string, string[]> };
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  publishConfig?: { access?: string; provenance?: boolean };
}

/** An export map: conditions inside conditions, down to files. */
export interface Exports {
  [condition: string]: string | Exports;
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

/** Every file that an export map leads to, under whatever condition. */
export function targetsOf(exports: Exports | string): string[] {
  return typeof exports === "string" ? [exports] : Object.values(exports).flatMap(targetsOf);
}
