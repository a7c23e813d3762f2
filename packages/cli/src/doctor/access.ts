/** What the API key can do: whether the service accepts it, and whether it can issue cards from the template. */
import { randomUUID } from "node:crypto";
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import { exitCodes } from "../command-error.ts";
import { findOtherServer, readUnknownCard } from "./contact.ts";
import { failed, passed, type Result, skipped, warning } from "./result.ts";

/**
 * Reads a card that does not exist. The specification does not name the statuses of a wrong key and of an unknown card, so the
 * response is compared with that to a request without a key.
 */
export async function checkKeyIsAccepted(
  client: IssuingClient,
  baseUrl: string,
  timeoutMs: number,
): Promise<Result> {
  const withoutKey = await readUnknownCard(baseUrl, timeoutMs);
  const other = findOtherServer(withoutKey);
  if (other !== undefined) return other;
  const id = `doctor-${randomUUID()}`;
  const { response } = await client.api.GET("/passes/{id}", { params: { path: { id } } });
  const { status } = response;
  if (status === 401 || status === 403) {
    const fix =
      "Is the key complete, not revoked, and of this service? The console creates new ones (API & webhooks).";
    return { ...failed(`the service responded ${status}`, fix), exitCode: exitCodes.keyRefused };
  }
  if (status >= 500) return failed(`the service responded ${status}`, "Run doctor again later.");
  if (withoutKey.status === status) {
    return warning(
      `the service responds ${status} with and without the key`,
      "Run `loyalty-cards card ID` with the id of a card that exists.",
    );
  }
  return passed("its kind, Website or Full, is visible only in the console");
}

/**
 * The specification promises a 422 for a malformed phone or email ([spec 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)), so the
 * service issues no card for this.
 */
const invalidRequest = { customer: { phone: "not-a-number", email: "not-an-email" } };

export async function checkTemplate(client: IssuingClient, templateId: string | undefined): Promise<Result> {
  if (templateId === undefined)
    return skipped("use --template or set LOYALTY_TEMPLATE_ID to check that it exists");
  const post = async (id: string) => {
    const { response } = await client.api.POST("/templates/{templateId}/passes", {
      params: { path: { templateId: id } },
      body: invalidRequest as never,
    });
    return response.status;
  };
  // First a template that cannot exist: a service may validate the customer before it looks for the template.
  const unknown = await post(`doctor-${randomUUID()}`);
  if (unknown < 400)
    return warning(`the service accepted an unknown template (${unknown})`, "It validates no templates.");
  const status = await post(templateId);
  if (status < 400)
    return failed(
      `the service issued a card to an invalid customer (${status})`,
      "Delete it in the console.",
    );
  if (status === 404 || status === 410) {
    return failed(
      `${JSON.stringify(templateId)} does not exist or is archived`,
      "Copy the id of a template from the console.",
    );
  }
  if (status === 401 || status === 403)
    return failed(`the key may not issue cards (${status})`, "Use a Website or Full key.");
  return status === unknown
    ? warning(
        `the service responds ${status} for an unknown template too`,
        "Issue a test card to check it: `loyalty-cards issue --help`.",
      )
    : passed(`${templateId} exists`);
}
