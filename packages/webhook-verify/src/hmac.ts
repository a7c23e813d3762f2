/** Chooses the engine: node:crypto where it exists, WebCrypto elsewhere. */
import type { AsyncHmacEngine, HmacEngine } from "./hmac-engine.ts";
import { nodeEngine } from "./hmac-node.ts";
import { signByWebCrypto, verifyByWebCrypto } from "./hmac-web.ts";

// Functions of their own, so that a bundle which verifies does not hold what signs.
export const sign: AsyncHmacEngine["sign"] = (...given) => (nodeEngine?.sign ?? signByWebCrypto)(...given);
export const verify: AsyncHmacEngine["verify"] = (...given) =>
  (nodeEngine?.verify ?? verifyByWebCrypto)(...given);

/** @throws {TypeError} where node:crypto cannot be found, naming the function that does without. */
export function synchronousEngine(alternative: string): HmacEngine {
  if (nodeEngine !== undefined) return nodeEngine;
  throw new TypeError(`This runtime has no node:crypto to find; use ${alternative}, which needs none.`);
}
