/** A browser bundle of the client throws with the reason; those of its card links and of server runtimes work. */
import { build } from "esbuild";

async function imported(conditions, platform, entry = "@loyalty-cards/issuing-client") {
  const { outputFiles } = await build({
    stdin: { contents: `export * from "${entry}";`, resolveDir: process.cwd() },
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
const { cardLinks } = await imported([], "browser", "@loyalty-cards/issuing-client/links");
cardLinks("https://cards.example.com/cards/1");
for (const conditions of [
  ["workerd", "worker", "browser"],
  ["edge-light", "worker", "browser"],
  ["bun", "browser"],
  ["deno", "browser"],
]) {
  const { createIssuingClient } = await imported(conditions, "neutral");
  createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key" });
}
console.log("rejected in browsers, accepted on servers");
