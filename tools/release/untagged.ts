/** `npm run release -- untagged`: the published packages whose version has no git tag yet, as NAME@VERSION. A workflow publishes and tags them. */
import { execFileSync } from "node:child_process";
import { published, root } from "../published.ts";

const tags = execFileSync("git", ["tag", "--list"], { cwd: root, encoding: "utf8" }).split("\n");
const versions = published.map(({ manifest }) => `${manifest.name}@${manifest["version"]}`);
console.log(versions.filter((version) => !tags.includes(version)).join(" "));
