/** Writes signatures.json: deliveries signed by openssl, each with the verdict a verifier must reach. */
import { writeFileSync } from "node:fs";
import { forgeries } from "./forgeries.ts";
import { genuineBodies } from "./genuine-bodies.ts";
import { headers } from "./headers.ts";
import { signedButNoEvents } from "./signed-but-no-events.ts";
import { times } from "./times.ts";
import type { Vector } from "./vector.ts";

const vectors = [...genuineBodies, ...headers, ...times, ...forgeries, ...signedButNoEvents];

// A replacement that replaced nothing would make a case that is another one.
for (const aspect of [({ name }: Vector) => name, ({ name: _, ...rest }: Vector) => JSON.stringify(rest)]) {
  const seen = new Map<string, string>();
  for (const vector of vectors) {
    const twin = seen.get(aspect(vector));
    if (twin !== undefined) throw new Error(`"${vector.name}" and "${twin}" are one case`);
    seen.set(aspect(vector), vector.name);
  }
}

writeFileSync(new URL("signatures.json", import.meta.url), `${JSON.stringify(vectors, null, 1)}\n`);
console.log(`wrote ${vectors.length} vectors`);
