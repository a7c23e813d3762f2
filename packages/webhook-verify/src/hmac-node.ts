/** The engine of node:crypto, where there is one. */
import type { HmacEngine } from "./hmac-engine.ts";
import type { SigningKey } from "./secret.ts";

type NodeCrypto = typeof import("node:crypto");
type KeyObject = ReturnType<NodeCrypto["createSecretKey"]>;
type NodeBuffer = typeof import("node:buffer");

interface Runtime {
  process?: { getBuiltinModule?: (id: string) => unknown };
}

/** Looked up at run time, so that no bundler has to be told about it. */
function builtin(id: string): unknown {
  try {
    return (globalThis as Runtime).process?.getBuiltinModule?.(id);
  } catch {
    return undefined; // Next's edge runtime has the functions of `process`, and each of them throws
  }
}

const crypto = builtin("node:crypto") as NodeCrypto | undefined;

/** Undefined elsewhere. */
export const nodeEngine: HmacEngine | undefined =
  crypto && engineOf(crypto, builtin("node:buffer") as NodeBuffer);

/** @throws {TypeError} where node:crypto cannot be found, naming the function that does without. */
export function synchronousEngine(alternative: string): HmacEngine {
  if (nodeEngine !== undefined) return nodeEngine;
  throw new TypeError(`This runtime has no node:crypto to find; use ${alternative}, which needs none.`);
}

function engineOf(
  { createHmac, createSecretKey, timingSafeEqual }: NodeCrypto,
  { Buffer }: NodeBuffer,
): HmacEngine {
  // Written and read without a pause between, so that nobody else comes between.
  const own = Buffer.alloc(32);
  const theirs = Buffer.alloc(32);
  const hmacOf = (key: SigningKey, timestamp: string, body: Uint8Array) => {
    key.forNode ??= createSecretKey(key.key as string, "utf8");
    return createHmac("sha256", key.forNode as KeyObject)
      .update(`${timestamp}.`)
      .update(body);
  };
  return {
    sign: (key, timestamp, body) => hmacOf(key, timestamp, body).digest("hex"),
    verify(key, { timestamp, signatures }, body) {
      own.write(hmacOf(key, timestamp, body).digest("binary"), "binary");
      let found = false;
      for (const signature of signatures) {
        theirs.write(signature, "hex");
        if (timingSafeEqual(own, theirs)) found = true;
      }
      return found;
    },
  };
}
