/** Runs work outside of the request that starts it. */
import { getBuiltinModule } from "./builtin-module.ts";

const { AsyncResource } = (getBuiltinModule("node:async_hooks") ?? {}) as {
  AsyncResource?: new (type: string) => { runInAsyncScope<Result>(work: () => Result): Result };
};
/** It has the async context in which this file is loaded, which is that of no request. */
const ownContext = AsyncResource && new AsyncResource("worker");

/**
 * Runs work that has no AsyncLocalStorage store, such as a worker, also when a request started it.
 */
export const runInNoRequest = <Result>(work: () => Result): Result =>
  ownContext === undefined ? work() : ownContext.runInAsyncScope(work);
