/** Verifying and parsing a delivery, and rejecting one, beside versions by hand and six packages. */
import { createHmac } from "node:crypto";
import { byHand, createWebCryptoByHand, eventText } from "../by-hand.mjs";
import { perCall, perCallSync } from "../measure.mjs";

const secret = "whsec_c2lnbmluZ19zZWNyZXRfb2ZfdGhlX2JlbmNobWFyaw==";
const standardKey = Buffer.from(secret.slice("whsec_".length), "base64");
const sizes = { "300 B": 300, "2 KB": 2_048, "64 KB": 65_536 };
const roundMs = 30;
const listSizes = (options) =>
  Object.entries(sizes).map(([name, bytes]) => ({ name: name + options.suffix, bytes, ...options }));

export default {
  title: "Verifying a webhook",
  question: "How long does it take to verify and parse a delivery, or to reject it?",
  notes: `A forged delivery has the signature of another body, a stale one is 301 seconds old, and a malformed one has ten characters of its
signature; all have 2 KB. Each package verifies the signature of its own scheme. octokit checks no timestamp and does not parse. workos and polar
use WebCrypto and import the key each time; polar tries two keys. The asynchronous functions run 32 at a time.

In the last table there is no node:crypto: *by hand* and *verifyWebhook* use WebCrypto and import the key once, and stripe has its
SubtleCrypto provider, which imports it each time.`,
  figures: {
    accepted: { label: "processor time per delivery", unit: "µs" },
    rejected: { label: "processor time per rejected delivery", unit: "µs" },
    web: { label: "processor time per delivery with WebCrypto", unit: "µs" },
  },
  floor: "by hand",
  own: ["verifyWebhookSync", "verifyWebhook"],
  panels: [
    ...listSizes({ suffix: ", bytes", figure: "accepted" }),
    ...listSizes({ suffix: ", string", figure: "accepted", isString: true }),
    ...["forged", "stale", "malformed"].map((name) => ({ name, figure: "rejected", bytes: sizes["2 KB"] })),
    ...listSizes({ suffix: ", WebCrypto", figure: "web" }),
  ],
  packages: [
    "stripe",
    "svix",
    "standardwebhooks",
    "@octokit/webhooks-methods",
    "@workos-inc/node",
    "@polar-sh/sdk",
  ],
  warmUps: 2,
  async open({ name, figure, bytes, isString }) {
    const delivery = createDelivery(eventText(bytes), name, isString);
    const load = figure === "web" ? loadWithWebCrypto : loadAll;
    const { sync, async } = await load(delivery, name);
    const isRejected = figure === "rejected";
    const variants = {};
    for (const [verifiers, run, ignoreError] of [
      [sync, perCallSync, ignoreThrown],
      [async, perCall, ignoreRejected],
    ]) {
      for (const [variant, verify] of Object.entries(verifiers)) {
        await check(variant, verify, isRejected);
        const call = isRejected ? ignoreError(verify) : verify;
        const { time } = await run(call, 100);
        const calls = Math.ceil((roundMs * 1000) / time);
        variants[variant] = async () => ({ [figure]: (await run(call, calls)).cpu });
      }
    }
    return { variants };
  },
};

const ignoreThrown = (verify) => () => {
  try {
    verify();
  } catch {}
};
const ignoreRejected = (verify) => () => verify().catch(() => {});

async function check(variant, verify, isRejected) {
  const outcome = await (async () => verify())().then(
    ({ id }) => id === "evt_1",
    () => false,
  );
  if (outcome === isRejected) throw new Error(`${variant}: ${isRejected ? "accepted" : "rejected"}`);
}

/** A body, and the signature of each scheme. */
function createDelivery(text, name, isString) {
  const ms = Date.now() - (name === "stale" ? 301_000 : 0);
  const sign = (signed, key = secret, encoding = "hex") => {
    const hmac = createHmac("sha256", key).update(signed);
    const signature = hmac.update(name === "forged" ? " " : "").digest(encoding);
    return name === "malformed" ? signature.slice(0, 10) : signature;
  };
  const createHeader = (t) => `t=${t},v1=${sign(`${t}.${text}`)}`;
  const seconds = String(Math.floor(ms / 1000));
  const createStandardHeaders = (body, key) => ({
    "webhook-id": "msg_1",
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${sign(`msg_1.${seconds}.${body}`, key, "base64")}`,
  });
  const polarText = text.replace("balance.changed", "benefit.created"); // it knows only its own types
  return {
    body: isString ? text : Buffer.from(text),
    header: createHeader(seconds),
    workosHeader: createHeader(ms),
    octokitHeader: `sha256=${sign(text)}`,
    standardHeaders: createStandardHeaders(text, standardKey),
    polarBody: isString ? polarText : Buffer.from(polarText),
    polarHeaders: createStandardHeaders(polarText, secret),
  };
}

async function loadAll(delivery, name) {
  const { verifyWebhook, verifyWebhookSync } = await import("@loyalty-cards/webhook-verify");
  const { default: Stripe } = await import("stripe");
  const { Webhook: SvixWebhook } = await import("svix");
  const { Webhook: StandardWebhook } = await import("standardwebhooks");
  const { verify: verifyOctokit } = await import("@octokit/webhooks-methods");
  const { WorkOS } = await import("@workos-inc/node");
  const { webhooks: polar } = await import("@polar-sh/sdk/2026-10");
  const { webhooks: stripe } = new Stripe("sk_test");
  const { webhooks: workos } = new WorkOS("sk_test");
  const svix = new SvixWebhook(secret);
  const standard = new StandardWebhook(secret);

  const { body, header, workosHeader, octokitHeader, standardHeaders, polarBody, polarHeaders } = delivery;
  const octokit = async () => {
    const text = body.toString();
    if (!(await verifyOctokit(secret, text, octokitHeader))) throw new Error("mismatch");
    return JSON.parse(text);
  };
  return {
    sync: {
      "by hand": () => byHand(body, header, secret),
      verifyWebhookSync: () => verifyWebhookSync({ rawBody: body, signature: header, secret }),
      "stripe constructEvent": () => stripe.constructEvent(body, header, secret),
      svix: () => svix.verify(body.toString(), standardHeaders),
      standardwebhooks: () => standard.verify(body.toString(), standardHeaders),
    },
    async: {
      verifyWebhook: () => verifyWebhook({ rawBody: body, signature: header, secret }),
      "stripe constructEventAsync": () => stripe.constructEventAsync(body, header, secret),
      ...(name !== "stale" && { "octokit + JSON.parse": octokit }),
      workos: () => workos.constructEvent({ payload: body, sigHeader: workosHeader, secret }),
      polar: () => polar.validateEvent(polarBody, polarHeaders, secret),
    },
  };
}

async function loadWithWebCrypto({ body, header }) {
  process.getBuiltinModule = undefined; // where the package looks for node:crypto
  const { verifyWebhook } = await import("@loyalty-cards/webhook-verify");
  const { default: Stripe } = await import("stripe");
  const { webhooks } = new Stripe("sk_test");
  const subtle = Stripe.createSubtleCryptoProvider();
  const verifyByHand = await createWebCryptoByHand(secret);
  return {
    sync: {},
    async: {
      "by hand": () => verifyByHand(body, header),
      verifyWebhook: () => verifyWebhook({ rawBody: body, signature: header, secret }),
      "stripe, SubtleCrypto": () => webhooks.constructEventAsync(body, header, secret, undefined, subtle),
    },
  };
}
