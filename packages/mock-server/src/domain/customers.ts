/**
 * Customers: found by phone, then by email, or created (spec 4.1.5); and their marketing consent
 * (spec 4.4, 4.5).
 */
import type { Result } from "@loyalty-cards/internal/result";
import {
  type CountryCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from "libphonenumber-js/min/es6";
import type { Country, Domain } from "./context.ts";
import type { FieldError } from "./errors.ts";
import { generateId } from "./ids.ts";
import { createFieldError } from "./problem.ts";
import type { Customer } from "./state.ts";

/** The contact members of a request, normalized. */
interface Contact {
  phone?: string;
  email?: string;
  name?: string;
}

/** @returns what is wrong with the phone and the email, as the failure. */
export function readContact(
  given: Contact,
  { defaultCountry }: Domain,
): Result<Contact, FieldError[]> {
  const errors: FieldError[] = [];
  const contact: Contact = {};
  if (given.phone !== undefined) {
    const phone = normalizePhone(given.phone.trim(), defaultCountry);
    if (phone === undefined) errors.push(createFieldError("/customer/phone", "phone"));
    else contact.phone = phone;
  }
  if (given.email !== undefined) {
    contact.email = given.email.trim();
    if (contact.email.length > maxEmailLength || normalizeEmail(contact.email) === undefined)
      errors.push(createFieldError("/customer/email", "email"));
  }
  const name = given.name?.trim() ?? "";
  if (name !== "") contact.name = name;
  return errors.length > 0 ? { failure: errors } : { value: contact };
}

/**
 * Fills members that an existing customer does not have. Never overwrites, and never adds a phone
 * or email of another customer.
 */
export function findOrCreateCustomer(domain: Domain, { phone, email, name }: Contact): Customer {
  const { customers, customerIdByPhone, customerIdByEmail } = domain.state;
  const emailKey = email === undefined ? undefined : normalizeEmail(email);
  const byPhone = phone === undefined ? undefined : customerIdByPhone.get(phone);
  const byEmail = emailKey === undefined ? undefined : customerIdByEmail.get(emailKey);

  const known = customers.get(byPhone ?? byEmail ?? "");
  const customer = known ?? { id: generateId("cus"), marketing: { isGiven: false }, cardIds: [] };
  if (known === undefined) customers.set(customer.id, customer);
  if (phone !== undefined && customer.phone === undefined && byPhone === undefined) {
    customer.phone = phone;
    customerIdByPhone.set(phone, customer.id);
  }
  if (emailKey !== undefined && customer.email === undefined && byEmail === undefined) {
    customer.email = email as string;
    customerIdByEmail.set(emailKey, customer.id);
  }
  if (name !== undefined) customer.name ??= name;
  domain.notifyChange();
  return customer;
}

export const isKnownCountry = (country: Country): boolean =>
  isSupportedCountry(country as CountryCode);

/**
 * @returns E.164, or undefined when malformed. Local formats are read as numbers of the default
 * country ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)).
 */
function normalizePhone(phone: string, defaultCountry: Country): string | undefined {
  const parsed = parsePhoneNumberFromString(phone, {
    defaultCountry: defaultCountry as CountryCode,
    extract: false,
  });
  // The number must be possible, and need not be valid: assigned ranges change monthly, and
  // "malformed" is about the form.
  return parsed?.isPossible() ? parsed.number : undefined;
}

/** What HTML's `<input type="email">` accepts, with a dot in the host. */
const emailHostPattern =
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;
/** Before the @, letters and signs of all languages are allowed too (RFC 6531). */
const localPartPattern = /^(?:[a-z0-9.!#$%&'*+/=?^_`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+$/u;
/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const maxEmailLength = 254;

/**
 * @returns the address to compare, in lower case and with the host in ASCII; undefined when
 * malformed.
 */
function normalizeEmail(email: string): string | undefined {
  const lower = email.normalize("NFC").toLowerCase();
  const at = Math.max(0, lower.indexOf("@"));
  const localPart = lower.slice(0, at);
  const host = toAsciiHost(lower.slice(at + 1));
  const isValid = localPartPattern.test(localPart) && emailHostPattern.test(host);
  return isValid ? `${localPart}@${host}` : undefined;
}

/** Converts "bücher.example" to "xn--bcher-kva.example" (RFC 5891). */
function toAsciiHost(host: string): string {
  const isMalformed = !/^[\p{L}\p{M}\p{N}.-]+$/u.test(host) || /(?:^|\.)-|-(?:\.|$)/.test(host);
  if (isMalformed || /^\p{ASCII}*$/u.test(host)) return host;
  return URL.canParse(`https://${host}`) ? new URL(`https://${host}`).hostname : host;
}

/**
 * The consent in responses of the API ([spec
 * 2.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-6)).
 */
export function toConsentState({ id, name, phone, email, marketing }: Customer) {
  const customer = { id, ...(name && { name }), ...(phone && { phone }), ...(email && { email }) };
  return { customer, marketingConsent: marketing.isGiven };
}

/**
 * Emits `consent.changed` for a change ([spec
 * 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)). Without a change it
 * only stores the newer version.
 * @param requestId the request that changes it.
 */
export function changeMarketingConsent(
  { emit, notifyChange }: Domain,
  customer: Customer,
  change: { marketing: boolean; version?: string },
  requestId: string,
): void {
  const hasChanged = customer.marketing.isGiven !== change.marketing;
  const given = change.version?.trim() || undefined; // a blank version counts as absent
  const version = given ?? (hasChanged ? undefined : customer.marketing.version);
  customer.marketing = {
    isGiven: change.marketing,
    isWithdrawn: !change.marketing,
    ...(version !== undefined && { version }),
  };
  notifyChange();
  if (!hasChanged) return;
  const { id: customerId, cardIds } = customer;
  const data = { customerId, marketingConsent: change.marketing, passIds: [...cardIds] };
  emit("consent.changed", data, requestId);
}
