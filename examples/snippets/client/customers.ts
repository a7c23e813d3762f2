/** Calls an operation that the client has no method for, typed by the service's own document. */
// #region customers
import { createIssuingClient } from "@loyalty-cards/issuing-client";
// npx openapi-typescript $LOYALTY_URL/api/docs/json -o loyalty.ts
import type { paths } from "./loyalty.ts";

const loyalty = createIssuingClient<paths>();

export async function getPhone(customerId: string): Promise<string | undefined> {
  const params = { path: { id: customerId } };
  const { data, error } = await loyalty.api.GET("/customers/{id}", { params });
  if (error !== undefined) throw new Error(error.detail);
  return data.phone;
}
// #endregion
