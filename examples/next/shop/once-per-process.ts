/** Creates a value once per process, because Next loads a module once per bundle. */

const made = Symbol.for("harbour-coffee/once-per-process");
const place = globalThis as typeof globalThis & { [made]?: Map<string, unknown> };

export function oncePerProcess<Thing>(name: string, make: () => Thing): Thing {
  place[made] ??= new Map();
  if (!place[made].has(name)) place[made].set(name, make());
  return place[made].get(name) as Thing;
}
