/** Runs the rows of the fault matrix with a client, in the runtime that loads this file. */

const request = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};

/** @returns one result per row: what the call returned or threw, and how long it took. */
export async function runFaultMatrix({ createIssuingClient, rows, bases, run }) {
  // The first call includes compiling and connecting, which must not count against a time limit.
  await createIssuingClient({ baseUrl: bases.http, apiKey: "k" })
    .issueCard("tpl_1", request, { userId: 1 })
    .catch(() => {});
  return Promise.all(
    rows.map((row, index) =>
      runRow({ createIssuingClient, row, base: bases[row.base ?? "http"], path: `/${run}/${index}` }),
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
    const card = await client.issueCard("tpl_1", request, { userId: path, signal: controller.signal });
    return { ok: card.id === "card_1", attempts, tookMs: took() };
  } catch (error) {
    if (error === reason) return { aborted: true, attempts, tookMs: took() };
    const { code, outcome, retryable, retryAfterMs, userMessage, message } = error;
    const detail = error.problem?.detail;
    const fields = { code, outcome, retryable, retryAfterMs, userMessage, message, detail };
    return { ok: false, ...fields, attempts, tookMs: took() };
  }
}
