/** What verifying and parsing a delivery costs beside a plain hand-written node:crypto version and four peers, as ratios of one run. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { verify as octokit } from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { signWebhookSync, verifyWebhook, verifyWebhookSync } from "../packages/webhook-verify/dist/index.js";
import { withoutNodeCrypto } from "./without-node-crypto.mjs";

const { verifyWebhook: verifyByWebCrypto } = await withoutNodeCrypto();
const rounds = Number(process.env.ROUNDS ?? 31);
const sizes = { "300 B": 300, "2 KB": 2_048, "64 KB": 65_536 };

const secret = "whsec_c2lnbmluZ19zZWNyZXRfb2ZfdGhlX2JlbmNobWFyaw==";
const stripe = new Stripe("sk_test");
const standard = new StandardWebhook(secret);
const svix = new SvixWebhook(secret);

/** What somebody writes who read the specification and nothing else. */
function byHand(body, header) {
  const pairs = Object.fromEntries(header.split(",").map((pair) => pair.split("=")));
  const t = Number(pairs.t);
  if (!Number.isFinite(t) || Math.abs(Date.now() / 1000 - t) > 300) throw new Error("stale");
  const expected = createHmac("sha256", secret).update(`${pairs.t}.`).update(body).digest();
  const given = Buffer.from(pairs.v1 ?? "", "hex");
  if (given.length !== expected.length || !timingSafeEqual(expected, given)) throw new Error("mismatch");
  return JSON.parse(body.toString("utf8"));
}

function delivery(bytes) {
  const event = {
    id: "evt_1",
    type: "balance.changed",
    createdAt: "2026-01-01T00:00:00.000Z",
    data: {
      passId: "card_1",
      customerId: "cus_1",
      balance: 120,
      change: 120,
      operation: { id: "op_1", type: "purchase" },
      note: "",
    },
  };
  event.data.note = "x".repeat(bytes - JSON.stringify(event).length);
  const text = JSON.stringify(event);
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

/** Everybody starts from the bytes that arrived. */
const subjects = {
  verifyWebhookSync: ({ body, header }) => verifyWebhookSync({ rawBody: body, signature: header, secret }),
  "stripe constructEvent": ({ body, header }) => stripe.webhooks.constructEvent(body, header, secret),
  standardwebhooks: ({ body, standardHeaders }) => standard.verify(body.toString(), standardHeaders),
  svix: ({ body, standardHeaders }) => svix.verify(body.toString(), standardHeaders),
};
const byHandOf = ({ body, header }) => byHand(body, header);
const asynchronous = {
  verifyWebhook: ({ body, header }) => verifyWebhook({ rawBody: body, signature: header, secret }),
  // No timestamp to check, and it takes nothing but text.
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

/** Processor time: the machine may be busy with other things. */
async function microseconds(run, given, calls) {
  const before = process.cpuUsage();
  if (run.isAsync) for (let i = 0; i < calls; i++) await run(given);
  else for (let i = 0; i < calls; i++) run(given);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}
for (const run of Object.values(asynchronous)) run.isAsync = true;

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const shuffled = (values) =>
  values
    .map((value) => [Math.random(), value])
    .sort(([a], [b]) => a - b)
    .map(([, value]) => value);

console.log(
  `Node ${process.versions.node}: times the plain version by hand, median of ${rounds} rounds in random order`,
);
for (const [label, bytes] of Object.entries(sizes)) {
  const given = delivery(bytes);
  const calls = Math.ceil(10_000_000 / (bytes + 4_000));
  const all = { ...subjects, ...asynchronous };
  for (const [reason, run] of Object.entries(refusals(given))) all[`  refused: ${reason}`] = run;
  const ratios = Object.fromEntries(Object.keys(all).map((name) => [name, []]));
  const floors = [];
  for (let round = -3; round < rounds; round++) {
    for (const [name, run] of shuffled(Object.entries(all))) {
      // Between two runs of the floor, so that a machine that slows down slows both.
      const before = await microseconds(byHandOf, given, calls);
      const own = await microseconds(run, given, calls);
      const after = await microseconds(byHandOf, given, calls);
      if (round < 0) continue;
      floors.push(before);
      ratios[name].push((2 * own) / (before + after));
    }
  }
  console.log(`\n${label}, by hand ${median(floors).toFixed(1)} µs`);
  for (const [name, values] of Object.entries(ratios)) {
    console.log(`${name.padEnd(30)}${median(values).toFixed(2).padStart(7)}`);
  }
}

console.log("\nWebCrypto with its keys kept, one after another, wall time, times ours:");
const subtle = Stripe.createSubtleCryptoProvider();
for (const [label, bytes] of Object.entries(sizes)) {
  const { body, text, header } = delivery(bytes);
  const wall = async (run) => {
    const startedMs = performance.now();
    for (let i = 0; i < 200; i++) await run();
    return performance.now() - startedMs;
  };
  const ratios = [];
  for (let round = 0; round < rounds; round++) {
    const own = await wall(() => verifyByWebCrypto({ rawBody: body, signature: header, secret }));
    const theirs = await wall(() =>
      stripe.webhooks.constructEventAsync(text, header, secret, undefined, subtle),
    );
    ratios.push(theirs / own);
  }
  console.log(`stripe with SubtleCrypto, ${label.padEnd(6)}${median(ratios).toFixed(2).padStart(7)}`);
}
