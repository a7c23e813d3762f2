/** Judges the integration in a folder: starts it and runs every check against it. */
import type { Settings } from "./settings.ts";
import { openShop, type Shop } from "./shop.ts";
import { type Check, laterCheck, signUpChecks } from "./sign-up-checks.ts";
import { webhookChecks } from "./webhook-checks.ts";

export const checks: readonly Check[] = [...signUpChecks, ...webhookChecks, laterCheck];

export interface Result {
  name: string;
  title: string;
  passed: boolean;
  seconds: number;
  /** What was seen instead, and what to change. */
  seen?: string;
  advice?: string;
}

export interface JudgeOptions {
  /** The names of the checks to run. Default: all. */
  only?: readonly string[];
  /** Further environment variables of the program. */
  env?: NodeJS.ProcessEnv;
  onResult?: (result: Result) => void;
}

/** @throws {SettingsError} when the folder cannot be judged, such as a shop that does not start. */
export async function judge(
  folder: string,
  settings: Settings,
  options: JudgeOptions = {},
): Promise<Result[]> {
  const { only, env = {}, onResult } = options;
  const shop = await openShop(folder, settings, env);
  const results: Result[] = [];
  try {
    for (const check of checks.filter(({ name }) => only?.includes(name) ?? true)) {
      const result = await runCheck(check, shop);
      results.push(result);
      onResult?.(result);
      if (check.isEssential && !result.passed) break;
    }
  } finally {
    await shop.close();
  }
  return results;
}

async function runCheck({ name, title, advice, run }: Check, shop: Shop): Promise<Result> {
  const startedMs = performance.now();
  shop.service.faults.clear(); // of a check that failed
  let seen = await run(shop);
  if (shop.hasEnded()) {
    seen = `${seen === undefined ? "" : `${seen}; `}the program ended`;
    await shop.restart();
  }
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  const passed = seen === undefined;
  return { name, title, passed, seconds, ...(seen !== undefined && { seen, advice }) };
}
