/** The engine of node:crypto, where there is one. */
import type { HmacEngine } from "./hmac-engine.ts";

type NodeCrypto = typeof import("node:crypto");

interface Runtime {
  process?: { getBuiltinModule?: (id: string) => NodeCrypto | undefined };
}

/** Undefined elsewhere. Looked up at run time, so that no bundler has to be told about it. */
export const nodeEngine: HmacEngine | undefined = (() => {
  const crypto = nodeCrypto();
  return crypto === undefined ? undefined : engineOf(crypto);
})();

function nodeCrypto(): NodeCrypto | undefined {
  try {
    return (globalThis as Runtime).process?.getBuiltinModule?.("node:crypto");
  } catch {
    return undefined; // Next's edge runtime has the functions of `process`, and each of them throws
  }
}

function engineOf({ createHmac, timingSafeEqual }: NodeCrypto): HmacEngine {
  return {
    sign: ({ key }, timestamp, body) =>
      createHmac("sha256", key).update(`${timestamp}.`).update(body).digest(),
    isEqual: (a, b) => a.byteLength === b.byteLength && timingSafeEqual(a, b),
  };
}
