/** Verifying and parsing a delivery, as ratios to a plain node:crypto version, and four peers. */
import { createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";
import { verify as octokit } from "@octokit/webhooks-methods";
import { build } from "esbuild";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { signWebhookSync, verifyWebhook, verifyWebhookSync } from "../packages/webhook-verify/dist/index.js";
import { byHand, eventText } from "./by-hand.mjs";
import { inProcesses, median, shuffled, spread } from "./measure.mjs";

const rounds = 9;
const processes = Number(process.env.PROCESSES ?? 7);
const sizes = { "300 B": 300, "2 KB": 2_048, "64 KB": 65_536 };

const secret = "whsec_c2lnbmluZ19zZWNyZXRfb2ZfdGhlX2JlbmNobWFyaw==";
const stripe = new Stripe("sk_test");
const standard = new StandardWebhook(secret);
const svix = new SvixWebhook(secret);

function delivery(bytes) {
  const text = eventText(bytes);
  const body = Buffer.from(text);
  const timestamp = Math.floor(Date.now() / 1000);
  const header = signWebhookSync({ rawBody: body, secret, timestamp });
  const standardHeaders = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(timestamp),
    "webhook-signature": standard.sign("msg_1", new Date(timestamp * 1000), text),
  };
  const octokitHeader = `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`;
  return { body, text, header, timestamp, standardHeaders, octokitHeader };
}

/** All start from the received bytes. */
const subjects = {
  verifyWebhookSync: ({ body, header }) => verifyWebhookSync({ rawBody: body, signature: header, secret }),
  "stripe constructEvent": ({ body, header }) => stripe.webhooks.constructEvent(body, header, secret),
  standardwebhooks: ({ body, standardHeaders }) => standard.verify(body.toString(), standardHeaders),
  svix: ({ body, standardHeaders }) => svix.verify(body.toString(), standardHeaders),
};
const runByHand = ({ body, header }) => byHand(body, header, secret);
const asynchronous = {
  verifyWebhook: ({ body, header }) => verifyWebhook({ rawBody: body, signature: header, secret }),
  // It checks no timestamp and accepts only text.
  "octokit verify + JSON.parse": async ({ body, octokitHeader }) => {
    const text = body.toString();
    return (await octokit(secret, text, octokitHeader)) && JSON.parse(text);
  },
  "stripe constructEventAsync": ({ body, header }) =>
    stripe.webhooks.constructEventAsync(body, header, secret),
};

function refusals({ body, header, timestamp }) {
  const stale = signWebhookSync({ rawBody: body, secret, timestamp: timestamp - 301 });
  const forged = header.replace(/.{4}$/, "0000");
  const refused = (run) => () => {
    try {
      run();
    } catch {
      return;
    }
    throw new Error("accepted");
  };
  const by = (signature) => refused(() => verifyWebhookSync({ rawBody: body, signature, secret }));
  return { stale: by(stale), malformed: by("t=abc,v1=00"), missing: by(undefined), forged: by(forged) };
}

/** Processor time, because the machine may be busy. */
async function microseconds(run, given, calls) {
  const before = process.cpuUsage();
  if (run.isAsync) for (let i = 0; i < calls; i++) await run(given);
  else for (let i = 0; i < calls; i++) run(given);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}
for (const run of Object.values(asynchronous)) run.isAsync = true;

/** For each subject the median of its ratios to the version by hand, in this process. */
async function measured(bytes) {
  const given = delivery(bytes);
  const calls = Math.ceil(10_000_000 / (bytes + 4_000));
  const all = { ...subjects, ...asynchronous };
  for (const [reason, run] of Object.entries(refusals(given))) all[`  refused: ${reason}`] = run;
  const ratios = Object.fromEntries(Object.keys(all).map((name) => [name, []]));
  for (let round = -3; round < rounds; round++) {
    for (const [name, run] of shuffled(Object.entries(all))) {
      // Between two runs of the baseline, so that a machine that slows down slows both.
      const before = await microseconds(runByHand, given, calls);
      const own = await microseconds(run, given, calls);
      const after = await microseconds(runByHand, given, calls);
      if (round >= 0) ratios[name].push((2 * own) / (before + after));
    }
  }
  return toMedians(ratios);
}

/** Ratio of stripe's time to ours with WebCrypto, sequentially and 32 at a time. */
async function measuredOnWebCrypto(bytes) {
  const { verifyWebhook: verifyByWebCrypto } = await loadWithoutNodeCrypto();
  const subtle = Stripe.createSubtleCryptoProvider();
  const { body, text, header } = delivery(bytes);
  const ours = () => verifyByWebCrypto({ rawBody: body, signature: header, secret });
  const theirs = () => stripe.webhooks.constructEventAsync(text, header, secret, undefined, subtle);
  const wall = async (run, atATime) => {
    let left = 320;
    const caller = async () => {
      while (left-- > 0) await run();
    };
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: atATime }, caller));
    return performance.now() - startedMs;
  };
  const ratios = { "stripe with SubtleCrypto": [], "  the same, 32 at a time": [] };
  for (let round = -3; round < rounds; round++) {
    for (const [name, atATime] of Object.entries({
      "stripe with SubtleCrypto": 1,
      "  the same, 32 at a time": 32,
    })) {
      const own = await wall(ours, atATime);
      const ratio = (await wall(theirs, atATime)) / own;
      if (round >= 0) ratios[name].push(ratio);
    }
  }
  return toMedians(ratios);
}

/** Loads the built verifier as in a runtime without node:crypto. */
async function loadWithoutNodeCrypto() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../packages/webhook-verify/dist/index.js", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    define: { globalThis: "nowhere" }, // where the package looks for node:crypto
    banner: { js: "const nowhere = {};" },
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

function toMedians(ratios) {
  return Object.fromEntries(Object.entries(ratios).map(([name, values]) => [name, median(values)]));
}

if (process.send !== undefined) {
  const [bytes, what] = process.argv.slice(2);
  process.send(await (what === "web" ? measuredOnWebCrypto : measured)(Number(bytes)));
  process.disconnect();
} else {
  console.log(
    `Node ${process.versions.node}: times the plain version by hand; median of ${processes} processes (smallest–largest)`,
  );
  for (const what of ["node", "web"]) {
    if (what === "web") console.log("\nWebCrypto with cached keys, wall time, ratio to ours:");
    for (const [label, bytes] of Object.entries(sizes)) {
      const results = await inProcesses(fileURLToPath(import.meta.url), processes, [String(bytes), what]);
      console.log(`\n${label}`);
      for (const name of Object.keys(results[0])) {
        console.log(`${name.padEnd(30)}${spread(results.map((result) => result[name]))}`);
      }
    }
  }
}
