/** The engine of node:crypto, where there is one. */
import type { HmacEngine } from "./hmac-engine.ts";

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

function engineOf(
  { createHmac, createSecretKey, timingSafeEqual }: NodeCrypto,
  { Buffer }: NodeBuffer,
): HmacEngine {
  // Written and read without a pause between, so that nobody else comes between.
  const own = Buffer.alloc(32);
  const theirs = Buffer.alloc(32);
  return {
    sign(key, timestamp, body) {
      key.forNode ??= createSecretKey(key.key as string, "utf8");
      return createHmac("sha256", key.forNode as KeyObject)
        .update(`${timestamp}.`)
        .update(body)
        .digest("hex");
    },
    isSame(a, b) {
      own.write(a, "hex");
      theirs.write(b, "hex");
      return timingSafeEqual(own, theirs);
    },
  };
}
