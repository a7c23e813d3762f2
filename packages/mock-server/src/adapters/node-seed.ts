/** Reads a seed file: the templates and endpoints that exist at the start and after a reset. */
import { readFileSync } from "node:fs";
import { isObject } from "../domain/input.ts";
import type { MockServiceOptions } from "../sandbox/options.ts";

export type Seed = Pick<MockServiceOptions, "defaultCountry" | "templates" | "endpoints" | "storeRefusals">;

const seedMembers = ["defaultCountry", "templates", "endpoints", "storeRefusals"];

/**
 * Reads a seed file. The service validates the templates and endpoints.
 * @throws {Error} when the file cannot be read or has another structure; the message names the file and the mistake.
 */
export function readSeed(file: string): Seed {
  try {
    return validateSeed(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new Error(`--seed ${file} cannot be used: ${(error as Error).message}`);
  }
}

function validateSeed(seed: unknown): Seed {
  if (!isObject(seed)) throw new TypeError("it is not an object.");
  const unknown = Object.keys(seed).filter((name) => !seedMembers.includes(name));
  if (unknown.length > 0) throw new TypeError(`"${unknown[0]}" is unknown; use ${seedMembers.join(", ")}.`);
  for (const [name, list] of Object.entries(seed)) {
    if (name === "defaultCountry" || name === "storeRefusals") continue; // the service checks them
    if (!Array.isArray(list) || !list.every(isObject))
      throw new TypeError(`"${name}" is not a list of objects.`);
    for (const entry of list) {
      for (const inner of ["fields", "tiers", "events"]) {
        const value = entry[inner];
        if (value !== undefined && !Array.isArray(value))
          throw new TypeError(`"${inner}" in "${name}" is not a list.`);
      }
    }
  }
  return seed as Seed;
}
