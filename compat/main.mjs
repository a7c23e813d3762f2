/** `npm run test:runtimes`: the fault matrix against the built package on every runtime; one line each. */
import { readFileSync } from "node:fs";
import { startFaultServer } from "./fault-server.mjs";
import { faults } from "./faults.mjs";
import { plainRows } from "./matrix.mjs";
import { inProcess, inWorkerd, overUndici } from "./runtimes.mjs";

const { version } = JSON.parse(
  readFileSync(new URL("../packages/issuing-client/package.json", import.meta.url), "utf8"),
);
const userAgent = `loyalty-cards/${version}`;
const only = process.argv.slice(2);
const runtimes = {
  ...inProcess("in-process.mjs"),
  ...overUndici("in-process.mjs"),
  workerd: inWorkerd("worker.mjs"),
};
const server = await startFaultServer();
let [passed, failed] = [0, 0];

for (const [name, run] of Object.entries(runtimes)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const runId = name.replaceAll(" ", "-");
  const startedMs = Date.now();
  try {
    const results = await run({ rows: plainRows(faults), bases: server.bases, run: runId });
    const broken = faults.flatMap((fault, index) =>
      differences(fault, name, results[index], server.seen.get(`${runId}/${index}`)),
    );
    passed += faults.length - new Set(broken.map(({ row }) => row)).size;
    failed += new Set(broken.map(({ row }) => row)).size;
    console.log(
      `${broken.length === 0 ? "✓" : "✗"} ${name.padEnd(10)} ${faults.length} faults, ${Date.now() - startedMs} ms`,
    );
    for (const { row, why } of broken) console.log(`    ${row}: ${why}`);
  } catch (error) {
    failed += faults.length;
    console.log(`✗ ${name.padEnd(10)} ${error.message}`);
  }
}
server.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

/** What a row gave otherwise than expected; every attempt must have the same key and body, and the client's user agent. */
function differences(fault, runtime, result, arrived) {
  const { name, expected, expectedOf = {}, runtimeMaySendAgain = [] } = fault;
  const { atLeastMs = 0, atMostMs = 12_000, ...members } = { ...expected, ...expectedOf[runtime] };
  const unseen =
    runtimeMaySendAgain.includes(runtime) && arrived.attempts === members.attempts
      ? arrived.attempts - result.attempts
      : 0;
  if (unseen === 1) members.attempts -= unseen;
  const found = [];
  for (const [member, value] of Object.entries(members)) {
    if (result[member] !== value)
      found.push(`${member} is ${result[member]}, not ${value} (${result.message ?? ""})`);
  }
  if (result.tookMs < atLeastMs) found.push(`took ${result.tookMs} ms, less than ${atLeastMs}`);
  if (result.tookMs > atMostMs) found.push(`took ${result.tookMs} ms, more than ${atMostMs}`);
  if (arrived !== undefined && arrived.keys.size !== 1) found.push(`${arrived.keys.size} idempotency keys`);
  if (arrived !== undefined && arrived.bodies.size > 1) found.push(`${arrived.bodies.size} bodies`);
  if (arrived !== undefined && ![...arrived.userAgents].every((agent) => agent === userAgent))
    found.push(`the user agents are ${[...arrived.userAgents].join(", ")}`);
  if (arrived !== undefined && result.ok && arrived.attempts !== result.attempts + unseen)
    found.push(`${arrived.attempts} requests arrived`);
  return found.map((why) => ({ row: name, why }));
}
