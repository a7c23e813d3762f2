/** Chooses the engine: node:crypto where it exists, WebCrypto elsewhere. */
import type { AsyncHmacEngine, HmacEngine } from "./hmac-engine.ts";
import { nodeEngine } from "./hmac-node.ts";
import { webEngine } from "./hmac-web.ts";

export const anyEngine: AsyncHmacEngine = nodeEngine ?? webEngine;

/** @throws {TypeError} where node:crypto cannot be found, naming the function that does without. */
export function synchronousEngine(alternative: string): HmacEngine {
  if (nodeEngine !== undefined) return nodeEngine;
  throw new TypeError(`This runtime has no node:crypto to find; use ${alternative}, which needs none.`);
}
