/** The time of the first import of the built client, as a ratio to openapi-fetch, each in a separate process. */
import { execFileSync } from "node:child_process";
import { median, shuffled } from "./measure.mjs";

const rounds = 21;
const subjects = {
  nothing: "data:text/javascript,",
  "openapi-fetch": import.meta.resolve("openapi-fetch"),
  entry: new URL("../packages/issuing-client/dist/index.js", import.meta.url).href,
};

function importMs(url) {
  const program = `const from = performance.now(); await import(${JSON.stringify(url)}); console.log(performance.now() - from);`;
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }),
  );
}

const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const [name, url] of shuffled(Object.entries(subjects))) times[name].push(importMs(url));
}
const over = (name) => median(times[name]) - median(times.nothing);
console.log(
  `Node ${process.versions.node}, medians of ${rounds}, over an empty module (${median(times.nothing).toFixed(1)} ms):`,
);
console.log(`openapi-fetch ${over("openapi-fetch").toFixed(1)} ms, entry ${over("entry").toFixed(1)} ms`);
console.log(`entry × ${(over("entry") / over("openapi-fetch")).toFixed(2)} of openapi-fetch`);
