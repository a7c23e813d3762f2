/** Importing does not read the globals that Node creates lazily: `Request` alone takes longer than importing the package. */
import { createRequire } from "node:module";

const read = [];
for (const name of ["Request", "Response", "Headers", "FormData"]) {
  const { get } = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, {
    get() {
      read.push(name);
      return get.call(globalThis);
    },
  });
}
const require = createRequire(import.meta.url);
for (const name of ["@loyalty-cards/issuing-client", "@loyalty-cards/webhook-verify"]) {
  await import(name);
  require(name);
}
console.log(read.length === 0 ? "imported without side effects" : `importing reads ${read.join(", ")}`);
