/** Reads the files of the contract, verifies its vectors with the installed verifier, and follows the links of each llms.txt. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isWebhookVerificationError, verifyWebhookSync } from "@loyalty-cards/webhook-verify";

const require = createRequire(import.meta.url);
const { webhooks } = require("@loyalty-cards/contract/openapi.json");
const { vectors } = require("@loyalty-cards/contract/signatures.json");
for (const type of Object.keys(webhooks)) {
  const { $id } = require(`@loyalty-cards/contract/events/${type}.json`);
  if (!$id.endsWith(`/${type}.json`)) throw new Error(`${type} has the schema ${$id}`);
}

for (const { name, body, secrets, header, nowSeconds, toleranceSeconds, reason } of vectors) {
  let found;
  try {
    verifyWebhookSync({
      rawBody: Buffer.from(body, "base64"),
      signature: header,
      secret: secrets.map((secret) => Buffer.from(secret, "base64")),
      toleranceSeconds,
      now: () => nowSeconds * 1000,
    });
  } catch (error) {
    found = isWebhookVerificationError(error) ? error.reason : error;
  }
  if (found !== reason) throw new Error(`"${name}" must be ${reason}, and is ${found}`);
}

const packages = [
  "cli",
  "contract",
  "issuing-client",
  "issuing-outbox",
  "mock-server",
  "webhook-inbox",
  "webhook-verify",
];
for (const name of packages) {
  const folder = dirname(require.resolve(`@loyalty-cards/${name}/package.json`));
  const links = [...readFileSync(join(folder, "llms.txt"), "utf8").matchAll(/\]\(([^)]+\.md)\)/g)];
  const missing = links.filter(([, path]) => !existsSync(join(folder, path)));
  if (links.length < 3 || missing.length > 0) throw new Error(`llms.txt of ${name} links to ${missing}`);
}
console.log("contract and documentation are complete");
