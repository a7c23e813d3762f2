/** A page's bundle throws and says why; the bundles of server runtimes, whose conditions come with `browser`, do not. */
import { build } from "esbuild";

async function imported(conditions, platform) {
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "@loyalty-cards/issuing-client";', resolveDir: process.cwd() },
    bundle: true,
    write: false,
    format: "esm",
    platform,
    conditions,
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const page = await imported([], "browser").then(
  () => "nothing",
  (error) => error.message,
);
if (!page.includes("must not run in a browser")) throw new Error(`the page's bundle threw ${page}`);
for (const conditions of [
  ["workerd", "worker", "browser"],
  ["edge-light", "worker", "browser"],
  ["bun", "browser"],
  ["deno", "browser"],
]) {
  const { createIssuingClient } = await imported(conditions, "neutral");
  createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key" });
}
console.log("pages are refused, servers are not");
