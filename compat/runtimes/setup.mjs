/**
 * The programs that run in each runtime: the fault matrix with a client, and the signature vectors
 * with every function of the verifier.
 */

/**
 * Runs the signature vectors of a setup, or else its fault matrix, with the functions of the
 * packages in that runtime.
 */
export const runSetup = ({ vectors, ...setup }, { createIssuingClient, ...verifier }) =>
  vectors === undefined
    ? runFaultMatrix({ createIssuingClient, ...setup })
    : verifyVectors({ ...verifier, vectors });

const request = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};

/** @returns one result per row: what the call returned or threw, and how long it took. */
async function runFaultMatrix({ createIssuingClient, rows, bases, run }) {
  // The first call includes compiling and connecting, which must not count against a time limit.
  await createIssuingClient({ baseUrl: bases.http, apiKey: "k" })
    .issueCard("tpl_1", request, { userId: 1 })
    .catch(() => {});
  return Promise.all(
    rows.map((row, index) =>
      runRow({
        createIssuingClient,
        row,
        base: bases[row.base ?? "http"],
        path: `/${run}/${index}`,
      }),
    ),
  );
}

async function runRow({ createIssuingClient, row, base, path }) {
  let attempts = 0;
  const client = createIssuingClient({
    baseUrl: base + path,
    apiKey: "key_that_must_stay_secret",
    onEvent: (event) => {
      if (event.type === "attempt") attempts = event.attempt;
    },
    ...row.options,
  });
  const controller = new AbortController();
  const reason = new Error("the user left");
  if (row.abortAfterMs !== undefined) setTimeout(() => controller.abort(reason), row.abortAfterMs);
  const startedMs = Date.now();
  const took = () => Date.now() - startedMs;
  try {
    const card = await client.issueCard("tpl_1", request, {
      userId: path,
      signal: controller.signal,
    });
    return { ok: card.id === "card_1", attempts, tookMs: took() };
  } catch (error) {
    if (error === reason) return { aborted: true, attempts, tookMs: took() };
    const { code, outcome, retryable, userMessage, message } = error;
    return { ok: false, code, outcome, retryable, userMessage, message, attempts, tookMs: took() };
  }
}

const decodeBase64 = (base64) =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function getVerdict(verify, input) {
  try {
    await verify(input);
    return "valid";
  } catch (error) {
    return error.name === "WebhookVerificationError"
      ? error.reason
      : `${error.name}: ${error.message}`;
  }
}

/** @returns per vector the verdict of each function, and which crypto engine the runtime has. */
export async function verifyVectors({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors }) {
  const [first] = vectors;
  const hasNodeCrypto =
    (await getVerdict(verifyWebhookSync, { ...toInput(first), signature: undefined })) ===
      "missing-signature" && (await getVerdict(verifyWebhookSync, toInput(first))) === "valid";
  const verdicts = [];
  for (const vector of vectors) {
    const input = toInput(vector);
    const found = [
      await getVerdict(verifyWebhook, input),
      await getReceiverVerdict(fetchReceiver, vector),
    ];
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

async function getReceiverVerdict(
  fetchReceiver,
  { body, header, secrets, nowSeconds, toleranceSeconds },
) {
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
  for (const line of header) headers.append("service-signature", line);
  await receive(
    new Request("https://shop.test/webhooks", {
      method: "POST",
      headers,
      body: decodeBase64(body),
    }),
  );
  return verdict === "verified" ? "valid" : verdict;
}
