/**
 * Whether the time of a verification reveals how much of a signature is correct: Welch's t between
 * forgeries whose first digit is wrong and forgeries whose last digit is wrong. The control is a
 * comparison that stops early, which must be detected.
 */
import { createHmac } from "node:crypto";
import {
  signWebhookSync,
  verifyWebhook,
  verifyWebhookSync,
} from "../packages/webhook-verify/src/index.ts";

const samples = Number(process.env.SAMPLES ?? 200_000);
const limit = 4.5;
const secret = "whsec_timing";
const rawBody = Buffer.from(
  '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z","data":{}}',
);
const header = signWebhookSync({ rawBody, secret });
const [, timestamp, own] = /t=(\d+),v1=(.+)/.exec(header);
const other = (digit) => (digit === "0" ? "1" : "0");
const forgeries = [other(own[0]) + own.slice(1), own.slice(0, -1) + other(own.at(-1))];
const toInput = (theirs) => ({ rawBody, signature: header.replace(own, theirs), secret });

const control = "one that stops early";
const subjects = {
  verifyWebhookSync(theirs) {
    try {
      verifyWebhookSync(toInput(theirs));
    } catch {
      return;
    }
    throw new Error("accepted a forgery");
  },
  verifyWebhook: (theirs) => verifyWebhook(toInput(theirs)).catch(() => {}),
  [control](theirs) {
    const hex = createHmac("sha256", secret).update(`${timestamp}.`).update(rawBody).digest("hex");
    for (let i = 0; i < 64; i++) if (hex.charCodeAt(i) !== theirs.charCodeAt(i)) return;
  },
};

/** Samples in random order, so that the load of the machine affects both classes. */
async function measure(run) {
  const times = [[], []];
  for (let i = 0; i < samples + 20_000; i++) {
    const kind = Math.random() < 0.5 ? 0 : 1;
    const startedNs = process.hrtime.bigint();
    await run(forgeries[kind]);
    if (i >= 20_000) times[kind].push(Number(process.hrtime.bigint() - startedNs));
  }
  return times;
}

/**
 * Welch's t-test without the slowest tenth, whose runs were interrupted. Both classes have the same
 * bound.
 */
function welch(classes) {
  const all = classes.flat().sort((a, b) => a - b);
  const bound = all[Math.floor(all.length * 0.9)];
  const [a, b] = classes.map((values) => {
    const kept = values.filter((value) => value <= bound);
    const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length;
    const variance = kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1);
    return { mean, error: variance / kept.length };
  });
  return (a.mean - b.mean) / Math.sqrt(a.error + b.error);
}

console.log(`Node ${process.versions.node}, ${samples} samples, Welch's t (limit ${limit}):`);
for (const [name, run] of Object.entries(subjects)) {
  const t = welch(await measure(run));
  if (Math.abs(t) > limit !== (name === control)) process.exitCode = 1;
  console.log(`${name.padEnd(30)}${t.toFixed(2).padStart(9)}`);
}
