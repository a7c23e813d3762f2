/** Optional peers never stop an installation: npm reports ERESOLVE for a project that has another version for its own reasons. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const packages = fileURLToPath(new URL("../../../packages/", import.meta.url));

it.each(readdirSync(packages))(
  "%s accepts every version of its peers, and requires none of them",
  (folder) => {
    const manifest = JSON.parse(readFileSync(`${packages}${folder}/package.json`, "utf8"));
    const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    expect(Object.values(peerDependencies).filter((range) => range !== "*")).toEqual([]);
    const optional = Object.keys(peerDependencies).map((name) => [name, { optional: true }]);
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(optional));
  },
);
