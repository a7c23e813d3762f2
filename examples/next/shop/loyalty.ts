/** The client of the loyalty service, once per process, and the versions of the consent texts. */
import {
  createIssuingClient,
  type IssuingClient,
} from "@loyalty-cards/issuing-client";

export const templateId = () => process.env.LOYALTY_TEMPLATE_ID ?? "";
/** The versions of the consent texts. A new text has a new version; a form with an old one is shown again. */
export const consentVersions = { privacy: "2026-01", news: "2026-01-news" };

/** Created at the first request, because the build has no LOYALTY_URL and no LOYALTY_API_KEY. */
export const loyalty = (): IssuingClient =>
  oncePerProcess("loyalty", () => createIssuingClient());

const made = Symbol.for("harbour-coffee/once-per-process");
const place = globalThis as typeof globalThis & { [made]?: Map<string, unknown> };

/** Creates a value once per process, because Next loads a module once per bundle. */
export function oncePerProcess<Thing>(name: string, make: () => Thing): Thing {
  place[made] ??= new Map();
  if (!place[made].has(name)) place[made].set(name, make());
  return place[made].get(name) as Thing;
}
