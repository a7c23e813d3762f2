/**
 * Verifying and parsing a delivery, and rejecting one, beside versions by hand and three packages.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { perCall, perCallSync } from "../measure.mjs";

const secret = "whsec_c2lnbmluZ19zZWNyZXRfb2ZfdGhlX2JlbmNobWFyaw==";
const standardKey = Buffer.from(secret.slice("whsec_".length), "base64");
const sizes = { "300 B": 300, "2 KB": 2_048, "64 KB": 65_536 };
const roundMs = 30;

export default {
  title: "Verifying a webhook",
  notes: "Verify and parse a delivery, or reject one of 2 KB.",
  figures: {
    accepted: { label: "CPU µs" },
    rejected: { label: "CPU µs" },
  },
  floor: "by hand",
  own: ["verifyWebhookSync", "verifyWebhook"],
  panels: [
    ...Object.entries(sizes).map(([name, bytes]) => ({ name, bytes, figure: "accepted" })),
    ...["forged", "stale", "malformed"].map((name) => ({
      name,
      figure: "rejected",
      bytes: sizes["2 KB"],
    })),
  ],
  packages: ["stripe", "svix", "standardwebhooks"],
  warmUps: 2,
  async open({ name, figure, bytes }) {
    const delivery = createDelivery(eventText(bytes), name);
    const { sync, async } = await loadAll(delivery);
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
  if (outcome === isRejected)
    throw new Error(`${variant}: ${isRejected ? "accepted" : "rejected"}`);
}

/** A body, and its signature in both schemes. */
function createDelivery(text, name) {
  const seconds = String(Math.floor(Date.now() / 1000) - (name === "stale" ? 301 : 0));
  const sign = (signed, key, encoding) => {
    const hmac = createHmac("sha256", key).update(signed);
    const signature = hmac.update(name === "forged" ? " " : "").digest(encoding);
    return name === "malformed" ? signature.slice(0, 10) : signature;
  };
  return {
    body: Buffer.from(text),
    header: `t=${seconds},v1=${sign(`${seconds}.${text}`, secret, "hex")}`,
    standardHeaders: {
      "webhook-id": "msg_1",
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${sign(`msg_1.${seconds}.${text}`, standardKey, "base64")}`,
    },
  };
}

async function loadAll({ body, header, standardHeaders }) {
  const { verifyWebhook, verifyWebhookSync } = await import("@loyalty-cards/webhook-verify");
  const { default: Stripe } = await import("stripe");
  const { Webhook: SvixWebhook } = await import("svix");
  const { Webhook: StandardWebhook } = await import("standardwebhooks");
  const { webhooks: stripe } = new Stripe("sk_test");
  const svix = new SvixWebhook(secret);
  const standard = new StandardWebhook(secret);
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
    },
  };
}

const form = /^t=(\d+),v1=([\da-f]{64})$/;

/**
 * What an engineer writes in ten minutes, in the fastest of the usual forms: hex is compared faster
 * than buffers are decoded.
 */
export function byHand(body, header, secret) {
  const [, t, v1] = form.exec(header) ?? [];
  if (!(Math.abs(Date.now() / 1000 - t) <= 300)) throw new Error("malformed or stale");
  const expected = createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex");
  if (!timingSafeEqual(Buffer.from(expected), Buffer.from(v1))) throw new Error("mismatch");
  return JSON.parse(body.toString());
}

/** A valid event with exactly this many bytes of JSON. */
export function eventText(bytes) {
  const operation = { id: "op_1", type: "purchase" };
  const event = {
    id: "evt_1",
    type: "balance.changed",
    createdAt: "2026-01-01T00:00:00.000Z",
    data: { passId: "card_1", customerId: "cus_1", balance: 120, change: 120, operation, note: "" },
  };
  event.data.note = "x".repeat(bytes - JSON.stringify(event).length);
  return JSON.stringify(event);
}
