/** What must hold for each package that npm gets, once it is built. */
import type { Gate } from "./gates.ts";
import { published } from "./published.ts";

export const publishedGates: readonly Gate[] = [
  ...published.map(({ name }) => ({
    name: `publint ${name}`,
    command: `npx publint --strict packages/${name}`,
  })),
  ...published.map(({ name }) => ({ name: `attw ${name}`, command: `npx attw --pack packages/${name}` })),
  { name: "licences", command: "npm run licences" },
  { name: "what is in the tarballs", command: "npm run release:contents" },
  { name: "built twice, the same bytes", command: "npm run release:reproducible" },
];
