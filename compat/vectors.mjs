/** `npm run test:runtimes`: the signature vectors through the built package on every runtime, and in a browser; one line each. */
import { readFileSync } from "node:fs";
import { inBrowser } from "./browser.mjs";
import { inProcess, inWorkerd } from "./runtimes.mjs";

const vectors = JSON.parse(
  readFileSync(new URL("../openapi/vectors/signatures.json", import.meta.url), "utf8"),
);
const only = process.argv.slice(2);
const runtimes = {
  ...inProcess("judge-in-process.mjs"),
  workerd: inWorkerd("judge-in-worker.mjs"),
  Chromium: inBrowser,
};
let [passed, failed] = [0, 0];

for (const [name, run] of Object.entries(runtimes)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const startedMs = Date.now();
  try {
    const { verdicts, engines } = await run({ vectors });
    const wrong = vectors.flatMap(({ name: vector, verdict }, index) =>
      verdicts[index].length > 0 && verdicts[index].every((one) => one === verdict)
        ? []
        : [`${vector}: ${verdicts[index]}, not ${verdict}`],
    );
    passed += vectors.length - wrong.length;
    failed += wrong.length;
    console.log(
      `${wrong.length === 0 ? "✓" : "✗"} ${name.padEnd(10)} ${vectors.length} vectors by ${engines.join(" and ")}, ${Date.now() - startedMs} ms`,
    );
    for (const line of wrong.slice(0, 20)) console.log(`    ${line}`);
  } catch (error) {
    failed += vectors.length;
    console.log(`✗ ${name.padEnd(10)} ${error.message}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
