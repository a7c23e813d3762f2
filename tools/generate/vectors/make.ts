/** Writes signatures.json: deliveries signed by openssl, each with the expected verdict. */
import { writeFileSync } from "node:fs";
import { forgeries } from "./forgeries.ts";
import { genuineBodies } from "./genuine-bodies.ts";
import { headers } from "./headers.ts";
import { signedNonEvents } from "./signed-non-events.ts";
import { times } from "./times.ts";
import type { Vector } from "./vector.ts";

const vectors = [...genuineBodies, ...headers, ...times, ...forgeries, ...signedNonEvents];

// Without a match, `replace` would create the same case again.
for (const aspect of [({ name }: Vector) => name, ({ name: _, ...rest }: Vector) => JSON.stringify(rest)]) {
  const seen = new Map<string, string>();
  for (const vector of vectors) {
    const twin = seen.get(aspect(vector));
    if (twin !== undefined) throw new Error(`"${vector.name}" and "${twin}" are the same case`);
    seen.set(aspect(vector), vector.name);
  }
}

writeFileSync(
  new URL("../../../openapi/vectors/signatures.json", import.meta.url),
  `${JSON.stringify(vectors, null, 1)}\n`,
);
console.log(`wrote ${vectors.length} vectors`);
