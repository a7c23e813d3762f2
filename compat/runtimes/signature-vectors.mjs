/** Verifies the signature vectors with every function of the package, in the runtime that loads this file. */

const decodeBase64 = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function getVerdict(verify, input) {
  try {
    await verify(input);
    return "valid";
  } catch (error) {
    return error.name === "WebhookVerificationError" ? error.reason : `${error.name}: ${error.message}`;
  }
}

/** @returns per vector the verdict of each function, and which crypto engine the runtime has. */
export async function verifyVectors({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors }) {
  const [first] = vectors;
  const hasNodeCrypto =
    (await getVerdict(verifyWebhookSync, { ...toInput(first), signature: undefined })) ===
      "missing-signature" && (await getVerdict(verifyWebhookSync, toInput(first))) === first.verdict;
  const verdicts = [];
  for (const vector of vectors) {
    const input = toInput(vector);
    const found = [await getVerdict(verifyWebhook, input), await getReceiverVerdict(fetchReceiver, vector)];
    if (hasNodeCrypto) found.push(await getVerdict(verifyWebhookSync, input));
    verdicts.push(found);
  }
  return { verdicts, engine: hasNodeCrypto ? "node:crypto" : "WebCrypto" };
}

const toInput = ({ body, header, secrets, nowSeconds, toleranceSeconds }) => ({
  rawBody: decodeBase64(body),
  signature: header,
  secret: secrets.map(decodeBase64),
  toleranceSeconds,
  now: () => nowSeconds * 1000,
});

async function getReceiverVerdict(fetchReceiver, { body, header, secrets, nowSeconds, toleranceSeconds }) {
  let verdict = "nothing";
  const receive = fetchReceiver({
    secret: secrets.map(decodeBase64),
    toleranceSeconds,
    now: () => nowSeconds * 1000,
    handler: () => {},
    onOutcome: (outcome) => {
      verdict = outcome.reason ?? outcome.outcome;
    },
  });
  const headers = new Headers();
  for (const line of [header ?? []].flat()) headers.append("service-signature", line);
  await receive(
    new Request("https://shop.test/webhooks", { method: "POST", headers, body: decodeBase64(body) }),
  );
  return verdict === "verified" ? "valid" : verdict;
}
