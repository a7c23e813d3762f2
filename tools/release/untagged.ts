/**
 * Prints the published packages whose version has no git tag yet, as NAME@VERSION: a workflow
 * publishes and tags them.
 */
import { published } from "../packages.ts";
import { root, run } from "../run.ts";

const tags = run("git", ["tag", "--list"], root).split("\n");
const versions = published.map(({ manifest }) => `${manifest.name}@${manifest["version"]}`);
console.log(versions.filter((version) => !tags.includes(version)).join(" "));
