/** Loads the built verifier as a runtime without node:crypto would have it. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export async function withoutNodeCrypto() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../packages/webhook-verify/dist/index.js", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    define: { globalThis: "nowhere" }, // where node:crypto is looked for
    banner: { js: "const nowhere = {};" },
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
