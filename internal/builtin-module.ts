/** Loads modules of Node.js where the runtime has them, and says when its globals are hidden. */

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

/**
 * The message for a test environment that hides what Node.js has.
 * @param user begins the sentence.
 */
export const describeHidden = (user: string, what: string): string =>
  `${user} needs ${what}, which this environment does not have: use the node environment. In Jest, begin the test file with /** @jest-environment node */.`;
