/** Importing does not touch what the runtime makes only when it is touched: `Request` alone would take longer than the package. */
import { createRequire } from "node:module";

const touched = [];
for (const name of ["Request", "Response", "Headers", "FormData"]) {
  const { get } = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, {
    get() {
      touched.push(name);
      return get.call(globalThis);
    },
  });
}
const require = createRequire(import.meta.url);
for (const name of ["@loyalty-cards/issuing-client", "@loyalty-cards/webhook-verify"]) {
  await import(name);
  require(name);
}
console.log(touched.length === 0 ? "imported, nothing touched" : `importing touches ${touched.join(", ")}`);
