/** Reads a seed file. A mistake is an error that names the file, the entry and what is allowed. */
import { readFileSync } from "node:fs";
import { isEndpointInput, isTemplateInput } from "@loyalty-cards/openapi/control-validators";
import { checkTypes, type MockServiceOptions } from "../backend/options.ts";
import { mergeEndpoints } from "../delivery/endpoints.ts";
import { isObject, validateInput } from "../domain/validation.ts";

type Seed = Pick<MockServiceOptions, "defaultCountry" | "templates" | "endpoints">;

const members = ["defaultCountry", "templates", "endpoints"];

/**
 * The options take precedence over the seed; the endpoints of both exist, one for each address. The
 * service validates the rest, such as addresses.
 * @throws {Error} when the file cannot be read or has another structure; the message names the file
 * and the mistake.
 */
export function addSeed<Options extends MockServiceOptions>(
  options: Options,
  file: string,
): Options {
  let seed: Seed;
  try {
    seed = parseSeed(new TextDecoder().decode(readFileSync(file))); // without a byte order mark
  } catch (error) {
    throw new Error(`seedFile or --seed ${file} cannot be used: ${(error as Error).message}`);
  }
  const endpoints = mergeEndpoints(options.endpoints ?? [], seed.endpoints ?? []);
  return { ...seed, ...options, endpoints };
}

function parseSeed(text: string): Seed {
  const seed: unknown = JSON.parse(text);
  if (!isObject(seed)) throw new TypeError("it is not an object.");
  const unknown = Object.keys(seed).filter((name) => !members.includes(name));
  if (unknown.length > 0)
    throw new TypeError(`"${unknown[0]}" is unknown; use ${members.join(", ")}.`);
  checkTypes(seed);
  const { templates = [], endpoints = [] } = seed as Seed;
  validateEntries("templates", templates, (template) => validateInput(isTemplateInput, template));
  validateEntries("endpoints", endpoints, ({ secret: _, ...endpoint }) =>
    validateInput(isEndpointInput, endpoint),
  );
  return seed;
}

function validateEntries<Entry>(
  name: string,
  list: readonly Entry[],
  validate: (entry: Entry) => void,
): void {
  for (const [index, entry] of list.entries()) {
    try {
      validate(entry);
    } catch (error) {
      throw new TypeError(`${name}[${index}]: ${(error as Error).message}`);
    }
  }
}
