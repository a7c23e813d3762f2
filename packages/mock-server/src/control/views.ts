/** What the control API shows of what is stored. */
import { cardOf, type StoredCard } from "../domain/cards.ts";
import type { Customer } from "../domain/customers.ts";
import { operationOf, type StoredOperation } from "../domain/ledger.ts";
import type { State } from "../domain/state.ts";
import type { Domain } from "../domain/surroundings.ts";
import type { World } from "../world.ts";

export function customerView({ id, name, phone, email, privacyVersion, marketing, cardIds }: Customer) {
  return { id, name, phone, email, marketingConsent: marketing.isGiven, privacyVersion, cardIds };
}

export function cardView(domain: Domain<State>, card: StoredCard) {
  const customer = domain.state.customers.get(card.customerId);
  return {
    ...cardOf(domain, card),
    templateId: card.templateId,
    issuedAt: new Date(card.issuedAtMs).toISOString(),
    wallets: card.wallets,
    expiredPoints: card.expiredPoints ?? 0,
    customer: customer && customerView(customer),
  };
}

export function operationView(operation: StoredOperation) {
  return { ...operationOf(operation), isCancelled: operation.isCancelled };
}

export function worldView({ id, apiKeys, domain: { baseUrl } }: World, isFirst: boolean, templateId: string) {
  const address = `${baseUrl}/console`;
  return { id, baseUrl, apiKeys, templateId, console: isFirst ? address : `${address}?world=${id}` };
}

export function clockView({ clock }: World) {
  const nextMs = clock.nextAttemptAt();
  return {
    now: new Date(clock.now()).toISOString(),
    ...clock.setting(),
    ...(nextMs !== undefined && { nextAttemptAt: new Date(nextMs).toISOString() }),
  };
}
