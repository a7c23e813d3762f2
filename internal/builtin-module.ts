/** Loads modules of Node.js where the runtime has them. */

/**
 * Loads a module of Node.js at run time, so that bundlers need no configuration.
 * @returns undefined in runtimes without it, and before Node.js 20.16.
 */
export function getBuiltinModule(id: string): unknown {
  try {
    return (
      globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
    ).process?.getBuiltinModule?.(id);
  } catch {
    return undefined; // Next's edge runtime has the functions of `process`, but each of them throws
  }
}
