/** Reads a seed file: what a service on a port begins with. */
import { readFileSync } from "node:fs";
import { isObject } from "../domain/shape.ts";
import type { MockServiceOptions } from "../options.ts";

/** What a seed file may hold. */
export type Seed = Pick<MockServiceOptions, "defaultCountry" | "templates" | "endpoints" | "storeRefusals">;

const seedMembers = ["defaultCountry", "templates", "endpoints", "storeRefusals"];

export function readSeed(file: string): Seed {
  try {
    return checkedSeed(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new Error(`--seed ${file} cannot be used: ${(error as Error).message}`);
  }
}

/** Names what is wrong with a file that somebody wrote by hand; what templates and endpoints hold, the service checks. */
function checkedSeed(seed: unknown): Seed {
  if (!isObject(seed)) throw new TypeError("it is not an object.");
  const unknown = Object.keys(seed).filter((name) => !seedMembers.includes(name));
  if (unknown.length > 0) throw new TypeError(`it has "${unknown[0]}"; there are ${seedMembers.join(", ")}.`);
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
