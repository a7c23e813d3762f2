/** The first program that a README shows: what its readers paste first. */

/** @throws when npm would show a page without one. */
export function firstSnippet(name: string, readme: string | undefined): string {
  if (readme === undefined)
    throw new Error(`packages/${name} has no README.md: npm would show an empty page. Write it first.`);
  const program = /^```ts\r?\n([\s\S]*?)^```/m.exec(readme)?.[1];
  if (program === undefined)
    throw new Error(`packages/${name}/README.md has no snippet in TypeScript that a reader could paste.`);
  return program;
}
