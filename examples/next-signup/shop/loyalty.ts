/** The client of the loyalty service, and the names that the shop agreed on with it. */
import { createIssuingClient, type IssuingClient } from "@loyalty-cards/issuing-client";
import { oncePerProcess } from "./once-per-process";

export const templateId = () => process.env.LOYALTY_TEMPLATE_ID ?? "";
/** Labels of the texts that people agree to. A new text has a new label; a form with an old one is shown again. */
export const consentVersions = { privacy: "2026-01", news: "2026-01-news" };

/** Made at the first request: the build has no key. */
export const loyalty = (): IssuingClient =>
  oncePerProcess("loyalty", () =>
    createIssuingClient({
      baseUrl: process.env.LOYALTY_URL ?? "",
      apiKey: process.env.LOYALTY_API_KEY ?? "",
      idempotencyNamespace: process.env.LOYALTY_NAMESPACE ?? "development", // one name for each user table
    }),
  );
