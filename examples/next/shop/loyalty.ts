/** The client of the loyalty service, and the versions of the consent texts. */
import { createIssuingClient, type IssuingClient } from "@loyalty-cards/issuing-client";
import { oncePerProcess } from "./once-per-process";

export const templateId = () => process.env.LOYALTY_TEMPLATE_ID ?? "";
/** The versions of the consent texts. A new text has a new version; a form with an old one is shown again. */
export const consentVersions = { privacy: "2026-01", news: "2026-01-news" };

/** Created at the first request, because the build has no API key. */
export const loyalty = (): IssuingClient =>
  oncePerProcess("loyalty", () =>
    createIssuingClient({
      baseUrl: process.env.LOYALTY_URL ?? "",
      apiKey: process.env.LOYALTY_API_KEY ?? "",
      idempotencyNamespace: process.env.LOYALTY_IDEMPOTENCY_NAMESPACE ?? "development", // one name for each user table
    }),
  );
