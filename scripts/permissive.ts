/** Which licences let anybody use, change and sell what they cover, for no more than their text and the names. */
const permissive = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

/** Of an SPDX expression: one side of an OR is enough, of an AND it takes all. What cannot be read is not permissive. */
export function isPermissive(licence: string): boolean {
  const alternatives = licence.replace(/^\((.*)\)$/, "$1").split(" OR ");
  return alternatives.some((all) => all.split(" AND ").every((one) => permissive.has(one.trim())));
}
