/** The client of the loyalty service, and the versions of the consent texts. */
import {
  createIssuingClient,
  type IssuingClient,
} from "@loyalty-cards/issuing-client";
import { oncePerProcess } from "./once-per-process";

export const templateId = () => process.env.LOYALTY_TEMPLATE_ID ?? "";
/** The versions of the consent texts. A new text has a new version; a form with an old one is shown again. */
export const consentVersions = { privacy: "2026-01", news: "2026-01-news" };

/** Created at the first request, because the build has no LOYALTY_URL and no LOYALTY_API_KEY. */
export const loyalty = (): IssuingClient =>
  oncePerProcess("loyalty", () => createIssuingClient());
