/** May this be published? Everything about the tarballs, and what their readers do first, on each Node. */
import { runGates } from "./gates.ts";
import { publishedGates } from "./published-gates.ts";

const failures = runGates([
  { name: "build", command: "npm run build" },
  ...publishedGates,
  {
    name: "first snippets on Node 20, 22 and 24",
    command: "npm run test:readmes",
    linuxOnly: "the binaries of Node that npm has are for Linux",
  },
  { name: "guides and examples in empty folders", command: "npm run test:copied" },
]);
process.exitCode = failures === 0 ? 0 : 1;
