/** The folders of golden files: `compat/golden/PACKAGE/VERSION`, and what each package writes into them. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeInbox } from "./inbox.ts";
import { writeMockServer } from "./mock-server.ts";
import { writeOutbox } from "./outbox.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const packages = fileURLToPath(new URL("../../packages", import.meta.url));

/** Each package that stores data, and a function that writes a file as the sources do. It returns what a user of the package sees. */
const writers = {
  "webhook-inbox": writeInbox,
  "issuing-outbox": writeOutbox,
  "mock-server": writeMockServer,
} as const satisfies Record<string, (folder: string) => Promise<object>>;

export type PackageName = keyof typeof writers;
export const packageNames = Object.keys(writers) as PackageName[];

/** The version of a package that was never released. */
export const unreleased = "0.0.0";

export const getFolder = (name: PackageName, version: string): string => join(here, name, version);
export const getMigrations = (name: PackageName): string => join(packages, name, "migrations");
export const getVersion = (name: PackageName): string =>
  JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8")).version;

/** The versions with a folder. */
export const getVersions = (name: PackageName): string[] =>
  existsSync(join(here, name)) ? readdirSync(join(here, name)) : [];

/** Replaces a folder with files that the sources write now: the data, `shown.json`, and a copy of the migrations. */
export async function writeGolden(name: PackageName, folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const shown = await writers[name](folder);
  writeFileSync(join(folder, "shown.json"), `${JSON.stringify(shown, null, 2)}\n`);
  if (existsSync(getMigrations(name)))
    cpSync(getMigrations(name), join(folder, "migrations"), { recursive: true });
}
