/**
 * `entries.mjs SPECIFIER…`: imports and requires each entry point. Both have the same names, and
 * classes keep theirs.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

for (const specifier of process.argv.slice(2)) {
  const imported = await import(specifier);
  const required = require(specifier);
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort(), specifier);
  for (const exports of [imported, required])
    for (const [name, value] of Object.entries(exports))
      if (/^class\b/.test(String(value))) assert.equal(value.name, name, specifier);
}
assert.ok(require("@loyalty-cards/contract/openapi.json").webhooks["balance.changed"]);
assert.ok(require("@loyalty-cards/contract/events/balance.changed.json").$id);
