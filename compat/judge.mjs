/** Judges the vectors by every way the package has in whatever runtime this is loaded. */

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function verdictOf(verify, input) {
  try {
    await verify(input);
    return "valid";
  } catch (error) {
    return error.name === "WebhookVerificationError" ? error.reason : `${error.name}: ${error.message}`;
  }
}

/** @returns per vector the verdicts of all ways, and the names of the ways. */
export async function judge({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors }) {
  const [first] = vectors;
  const hasNodeCrypto =
    (await verdictOf(verifyWebhookSync, { ...inputOf(first), signature: undefined })) ===
      "missing-signature" && (await verdictOf(verifyWebhookSync, inputOf(first))) === first.verdict;
  const verdicts = [];
  for (const vector of vectors) {
    const input = inputOf(vector);
    const found = [await verdictOf(verifyWebhook, input), await verdictByReceiver(fetchReceiver, vector)];
    if (hasNodeCrypto) found.push(await verdictOf(verifyWebhookSync, input));
    verdicts.push(found);
  }
  return { verdicts, engines: hasNodeCrypto ? ["node:crypto"] : ["WebCrypto"] };
}

const inputOf = ({ body, header, secrets, nowSeconds, toleranceSeconds }) => ({
  rawBody: bytesOf(body),
  signature: header,
  secret: secrets.map(bytesOf),
  toleranceSeconds,
  now: () => nowSeconds * 1000,
});

async function verdictByReceiver(fetchReceiver, { body, header, secrets, nowSeconds, toleranceSeconds }) {
  let verdict = "nothing";
  const receive = fetchReceiver({
    secret: secrets.map(bytesOf),
    toleranceSeconds,
    now: () => nowSeconds * 1000,
    accept: () => {},
    onOutcome: (outcome) => {
      verdict = outcome.reason ?? outcome.outcome;
    },
  });
  const headers = new Headers();
  for (const line of [header ?? []].flat()) headers.append("service-signature", line);
  await receive(new Request("https://shop.test/webhooks", { method: "POST", headers, body: bytesOf(body) }));
  return verdict === "verified" ? "valid" : verdict;
}
