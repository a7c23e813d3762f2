/**
 * Whether the time of a comparison reveals how much of a signature is correct: Welch's t between forgeries whose first digit is wrong
 * and forgeries whose last digit is wrong. The control is a comparison that stops early, which must be detected.
 */

import { getNodeEngine, verifyWithWebCrypto } from "../packages/webhook-verify/src/hmac.ts";
import { signWebhookSync, verifyWebhookSync } from "../packages/webhook-verify/src/index.ts";
import { toSigningKeys } from "../packages/webhook-verify/src/secrets.ts";

const nodeEngine = getNodeEngine();

const samples = Number(process.env.SAMPLES ?? 200_000);
const limit = 4.5;

const secret = "whsec_timing";
const rawBody = Buffer.from('{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z","data":{}}');
const header = signWebhookSync({ rawBody, secret });
const own = header.split("v1=")[1];
const other = (digit) => (digit === "0" ? "1" : "0");
const wrongFirst = other(own[0]) + own.slice(1);
const wrongLast = own.slice(0, -1) + other(own.at(-1));

const [key] = toSigningKeys(secret);
const timestamp = /\d+/.exec(header)[0];
const withSignature = (theirs) => ({ timestamp, signatures: [theirs] });
const refused = (theirs) => {
  try {
    verifyWebhookSync({ rawBody, signature: header.replace(own, theirs), secret });
  } catch {
    return false;
  }
  throw new Error("accepted a forgery");
};
/** The control. */
const stopsEarly = (theirs) => {
  const hex = nodeEngine.sign(key, timestamp, rawBody);
  for (let i = 0; i < 64; i++) if (hex.charCodeAt(i) !== theirs.charCodeAt(i)) return false;
  return true;
};

const subjects = {
  "node:crypto engine": (theirs) => nodeEngine.verify(key, withSignature(theirs), rawBody),
  "WebCrypto engine": (theirs) => verifyWithWebCrypto(key, withSignature(theirs), rawBody),
  "verifyWebhookSync, whole": refused,
};

/** Samples in random order, so that the load of the machine affects both classes. */
async function measured(run) {
  const times = [new Float64Array(samples), new Float64Array(samples)];
  const counts = [0, 0];
  for (let i = 0; i < 20_000; i++) await run(i % 2 === 0 ? wrongFirst : wrongLast);
  while (counts[0] < samples / 2 || counts[1] < samples / 2) {
    const kind = Math.random() < 0.5 ? 0 : 1;
    const theirs = kind === 0 ? wrongFirst : wrongLast;
    const startedNs = process.hrtime.bigint();
    const result = run(theirs);
    if (result instanceof Promise) await result;
    times[kind][counts[kind]++] = Number(process.hrtime.bigint() - startedNs);
  }
  return times.map((values, kind) => values.subarray(0, counts[kind]));
}

/** Welch's t-test without the slowest tenth, whose runs were interrupted. Both classes have the same bound. */
function welch([first, second]) {
  const all = Float64Array.from([...first, ...second]).sort();
  const bound = all[Math.floor(all.length * 0.9)];
  const [a, b] = [first, second].map((values) => {
    const kept = values.filter((value) => value <= bound);
    const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length;
    const variance = kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1);
    return { mean, error: variance / kept.length };
  });
  return (a.mean - b.mean) / Math.sqrt(a.error + b.error);
}

console.log(`Node ${process.versions.node}, ${samples} samples each, Welch's t (limit ${limit}):`);
let isFair = true;
for (const [name, run] of Object.entries(subjects)) {
  const t = welch(await measured(run));
  isFair &&= Math.abs(t) < limit;
  console.log(`${name.padEnd(30)}${t.toFixed(2).padStart(9)}`);
}
const control = welch(await measured(stopsEarly));
console.log(`${"one that stops early".padEnd(30)}${control.toFixed(2).padStart(9)}`);
process.exitCode = isFair && Math.abs(control) > limit ? 0 : 1;
