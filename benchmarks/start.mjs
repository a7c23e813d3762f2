/** From `mock-server` as a command to its first answer, and what it weighs then: medians, in a process of its own. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../packages/mock-server/dist/bin.js", import.meta.url));
const rounds = 15;

/** The least that Node takes to say something, to see how much of the time is ours. */
const emptyMs = await times(() => run(["-e", "console.log(1)"], async () => {}));
const served = [];
const spent = [];
const startMs = await times(() =>
  run([bin, "--port", "0", "--json"], async (line, child) => {
    const { baseUrl, apiKeys, templateId } = JSON.parse(line);
    const issued = await issue(`${baseUrl}/api/v1/templates/${templateId}/passes`, apiKeys.website);
    if (issued !== 201) throw new Error(`the first answer was ${issued}`);
    served.push(residentMiB(child.pid));
    spent.push(processorMs(child.pid));
  }),
);
console.log(`Node ${process.versions.node}, medians of ${rounds}:`);
console.log(`an empty process      ${emptyMs} ms`);
console.log(`to the first 201      ${startMs} ms`);
console.log(`of that, processor    ${median(spent)} ms`);
console.log(`RSS after it          ${median(served).toFixed(1)} MiB`);

async function times(act) {
  const taken = [];
  for (let round = 0; round < rounds; round++) taken.push(await act());
  return Math.round(median(taken));
}

function run(args, atFirstLine) {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.once("data", (line) => {
      atFirstLine(String(line), child).then(() => {
        const tookMs = performance.now() - startedMs;
        child.kill("SIGKILL");
        child.once("close", () => resolve(tookMs));
      }, reject);
    });
  });
}

function issue(url, key) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end('{"customer":{"consents":{"privacy":{"version":"1"}}}}');
  });
}

/** Linux only: what `ps` calls RSS. */
function residentMiB(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Linux only, in hundredths of a second: what the process itself worked, whatever else the machine did. */
function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}
