/** Finds the customer by phone, then by e-mail, or creates one (spec 4.1.5). */
import { normalEmail, normalPhone } from "./contact.ts";
import type { MemberFault } from "./problem.ts";
import type { Domain, Surroundings } from "./surroundings.ts";

export interface Customer {
  id: string;
  /** E.164. */
  phone?: string;
  /** As first given, without surrounding spaces; compared as `normalEmail` says. */
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

/** Who signs up, in the forms that are compared. */
export interface Contact {
  phone?: string;
  email?: string;
  name?: string;
}

export function readContact(
  given: { phone?: string; email?: string; name?: string },
  { defaultCountry }: Surroundings,
): Contact | MemberFault[] {
  const faults: MemberFault[] = [];
  const contact: Contact = {};
  if (given.phone !== undefined) {
    const phone = normalPhone(given.phone.trim(), defaultCountry);
    if (phone === undefined)
      faults.push({ pointer: "/customer/phone", detail: "The phone number is not valid." });
    else contact.phone = phone;
  }
  if (given.email !== undefined) {
    const email = given.email.trim();
    if (normalEmail(email) === undefined) {
      faults.push({ pointer: "/customer/email", detail: "The e-mail address is not valid." });
    } else contact.email = email;
  }
  const name = given.name?.trim() ?? "";
  if (name !== "") contact.name = name;
  return faults.length === 0 ? contact : faults;
}

/** A customer who is found keeps what is known; only blanks are filled, and never with what identifies another. */
export function findOrCreateCustomer(domain: Domain<CustomerStore>, contact: Contact): Customer {
  const { state, newIdentifier, tell } = domain;
  const { phone, email, name } = contact;
  const emailKey = email === undefined ? undefined : normalEmail(email);
  const byPhone = phone === undefined ? undefined : state.customerIdByPhone.get(phone);
  const byEmail = emailKey === undefined ? undefined : state.customerIdByEmail.get(emailKey);

  const id = byPhone ?? byEmail ?? newIdentifier("cus");
  const known = state.customers.get(id);
  const customer = known ?? { id, marketing: { isGiven: false }, cardIds: [] };
  state.customers.set(id, customer);

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
  tell({ type: "customer", id, action: known === undefined ? "created" : "changed" });
  return customer;
}
