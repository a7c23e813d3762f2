/** Records what a customer agreed to. Marketing consent belongs to the customer, not to one card. */
import type { Customer } from "./customers.ts";
import type { Surroundings } from "./surroundings.ts";

export interface ConsentState {
  customer: Record<string, unknown>;
  marketingConsent: boolean;
}

export function consentOf({ id, name, phone, email, marketing }: Customer): ConsentState {
  const customer = { id, ...(name && { name }), ...(phone && { phone }), ...(email && { email }) };
  return { customer, marketingConsent: marketing.isGiven };
}

/** A change emits `consent.changed` (spec 4.5); what already holds only takes the newer version label. */
export function changeMarketingConsent(
  { emit, tell }: Surroundings,
  customer: Customer,
  change: { marketing: boolean; version?: string },
): void {
  const hasChanged = customer.marketing.isGiven !== change.marketing;
  const given = change.version?.trim() || undefined; // a blank label is none
  const version = given ?? (hasChanged ? undefined : customer.marketing.version);
  customer.marketing = { isGiven: change.marketing, ...(version !== undefined && { version }) };
  tell({ type: "customer", id: customer.id, action: "changed" });
  if (!hasChanged) return;
  emit("consent.changed", {
    customerId: customer.id,
    marketingConsent: change.marketing,
    passIds: [...customer.cardIds],
  });
}
