/** Customers: found by phone, then by email, or created (spec 4.1.5); and their marketing consent (spec 4.4, 4.5). */

import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/min/es6";
import type { Country, Domain, DomainContext } from "./context.ts";
import { createFieldError, type FieldError } from "./problem.ts";

export interface Customer {
  id: string;
  /** E.164. */
  phone?: string;
  /** As first received, without surrounding spaces. Compared in the form of `normalizeEmail`. */
  email?: string;
  name?: string;
  privacyVersion?: string;
  marketing: { isGiven: boolean; version?: string };
  cardIds: string[];
}

export interface CustomerStore {
  customers: Map<string, Customer>;
  customerIdByPhone: Map<string, string>;
  customerIdByEmail: Map<string, string>;
}

/** The contact members of a request, normalized. */
export interface Contact {
  phone?: string;
  email?: string;
  name?: string;
}

export function readContact(
  given: { phone?: string; email?: string; name?: string },
  { defaultCountry }: DomainContext,
): Contact | FieldError[] {
  const errors: FieldError[] = [];
  const contact: Contact = {};
  if (given.phone !== undefined) {
    const phone = normalizePhone(given.phone.trim(), defaultCountry);
    if (phone === undefined) errors.push(createFieldError("/customer/phone", "phone"));
    else contact.phone = phone;
  }
  if (given.email !== undefined) {
    const email = given.email.trim();
    if (email.length > maxEmailLength || normalizeEmail(email) === undefined)
      errors.push(createFieldError("/customer/email", "email"));
    else contact.email = email;
  }
  const name = given.name?.trim() ?? "";
  if (name !== "") contact.name = name;
  return errors.length === 0 ? contact : errors;
}

/** Fills members that an existing customer does not have. Never overwrites, and never adds a phone or email of another customer. */
export function findOrCreateCustomer(domain: Domain<CustomerStore>, contact: Contact): Customer {
  const { state, generateId, notifyChange } = domain;
  const { phone, email, name } = contact;
  const emailKey = email === undefined ? undefined : normalizeEmail(email);
  const byPhone = phone === undefined ? undefined : state.customerIdByPhone.get(phone);
  const byEmail = emailKey === undefined ? undefined : state.customerIdByEmail.get(emailKey);

  const known = state.customers.get(byPhone ?? byEmail ?? "");
  const customer = known ?? { id: generateId("cus"), marketing: { isGiven: false }, cardIds: [] };
  const { id } = customer;
  if (known === undefined) state.customers.set(id, customer);

  if (phone !== undefined && customer.phone === undefined && byPhone === undefined) {
    customer.phone = phone;
    state.customerIdByPhone.set(phone, id);
  }
  if (
    email !== undefined &&
    emailKey !== undefined &&
    customer.email === undefined &&
    byEmail === undefined
  ) {
    customer.email = email;
    state.customerIdByEmail.set(emailKey, id);
  }
  if (name !== undefined) customer.name ??= name;
  notifyChange({ type: "customer", id, action: known === undefined ? "created" : "changed" });
  return customer;
}

export const isKnownCountry = (country: Country): boolean => isSupportedCountry(country as CountryCode);

/**
 * E.164, or undefined when malformed. Local formats are read as numbers of the default country
 * ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)).
 */
export function normalizePhone(phone: string, defaultCountry: Country): string | undefined {
  const parsed = parsePhoneNumberFromString(phone, {
    defaultCountry: defaultCountry as CountryCode,
    extract: false,
  });
  // Possible, not valid: assigned ranges change monthly, and "malformed" is about the form.
  return parsed?.isPossible() ? parsed.number : undefined;
}

/** What HTML's `<input type="email">` accepts, with a dot in the domain. */
const domainPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;
/** Before the @, letters and signs of all languages are allowed too (RFC 6531). */
const localPartPattern = /^(?:[a-z0-9.!#$%&'*+/=?^_`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+$/u;

/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const maxEmailLength = 254;

/** Addresses are compared in lower case, with the domain in ASCII. Undefined for a malformed address. */
function normalizeEmail(email: string): string | undefined {
  const lower = email.normalize("NFC").toLowerCase();
  const at = lower.indexOf("@");
  const [name, domain] = [lower.slice(0, Math.max(0, at)), toAsciiDomain(lower.slice(at + 1))];
  return localPartPattern.test(name) && domainPattern.test(domain) ? `${name}@${domain}` : undefined;
}

/** "bücher.example" is "xn--bcher-kva.example" (RFC 5891). */
function toAsciiDomain(domain: string): string {
  const isMalformed = !/^[\p{L}\p{M}\p{N}.-]+$/u.test(domain) || /(?:^|\.)-|-(?:\.|$)/.test(domain);
  if (isMalformed || /^\p{ASCII}*$/u.test(domain)) return domain;
  return URL.canParse(`https://${domain}`) ? new URL(`https://${domain}`).hostname : domain;
}

export interface ConsentState {
  customer: Record<string, unknown>;
  marketingConsent: boolean;
}

export function toConsentState({ id, name, phone, email, marketing }: Customer): ConsentState {
  const customer = { id, ...(name && { name }), ...(phone && { phone }), ...(email && { email }) };
  return { customer, marketingConsent: marketing.isGiven };
}

/**
 * Emits `consent.changed` for a change ([spec 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)). Without a change it only stores the
 * newer version.
 */
export function changeMarketingConsent(
  { emit, notifyChange }: DomainContext,
  customer: Customer,
  change: { marketing: boolean; version?: string },
): void {
  const hasChanged = customer.marketing.isGiven !== change.marketing;
  const given = change.version?.trim() || undefined; // a blank version counts as absent
  const version = given ?? (hasChanged ? undefined : customer.marketing.version);
  customer.marketing = { isGiven: change.marketing, ...(version !== undefined && { version }) };
  notifyChange({ type: "customer", id: customer.id, action: "changed" });
  if (!hasChanged) return;
  emit("consent.changed", {
    customerId: customer.id,
    marketingConsent: change.marketing,
    passIds: [...customer.cardIds],
  });
}
