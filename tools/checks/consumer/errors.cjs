/** Prints the class names that the errors of the published packages show, from CommonJS. */
const { inspect } = require("node:util");
const { createIssuingClient } = require("@loyalty-cards/issuing-client");
const { createMockService, WaitTimeoutError } = require("@loyalty-cards/mock-server");
const { startMockServer } = require("@loyalty-cards/mock-server/node");
const { verifyWebhookSync } = require("@loyalty-cards/webhook-verify");

const thrownBy = async (run) => {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error("It did not throw.");
};

/** The name of the class must be the name that a log shows. */
function getShownName(error) {
  const { name } = error.constructor;
  const shown = inspect(error).split("\n")[0];
  return shown.startsWith(`${name}: `) || shown.startsWith(`[${name}: `)
    ? name
    : `${name}, shown as ${shown}`;
}

async function main() {
  const mock = await startMockServer();
  const client = createIssuingClient({ baseUrl: mock.url, apiKey: mock.service.apiKeys.website });
  const service = createMockService();
  const errors = [
    await thrownBy(() => client.getCard("")),
    await thrownBy(() => client.getCard("card_unknown")),
    await thrownBy(() => verifyWebhookSync({ rawBody: "{}", signature: "", secret: "whsec_test" })),
    await thrownBy(() => service.cards.get("card_unknown")),
    await thrownBy(() => service.waitFor({}, { timeoutMs: 1 })),
    await thrownBy(() => service.waitFor({ delivery: {} }, { timeoutMs: 1 })),
  ];
  await mock.close();
  if (!(errors[5] instanceof WaitTimeoutError)) throw errors[5];
  console.log(errors.map(getShownName).join(" "));
}

main();
