/** The first lines of every built file: an error with both versions on a Node.js that is too old, before something that it lacks is used. */
import manifest from "../../package.json" with { type: "json" };

/** `20.19`. Every package has it in `engines`, and the pages name it. */
export const minimumNode = manifest.engines.node.replace(">=", "");

const [minimumMajor, minimumMinor] = minimumNode.split(".");

/** For tsup's `banner`. In every file, because the files that an ES module imports run before it. Other runtimes pass. */
export const nodeVersionBanner = (name: string) => ({
  js: `{
  const { node, bun, deno } = globalThis.process?.versions ?? {};
  const [major, minor] = node && !bun && !deno ? node.split(".") : [];
  if (major < ${minimumMajor} || (major == ${minimumMajor} && minor < ${minimumMinor}))
    throw new Error(\`${name} needs Node.js ${minimumNode} or newer, not \${node}.\`);
}`,
});
