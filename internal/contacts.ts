/** Normalizes phones and emails, to find the same person in two rows. */

/** The contact members of a request that identify a customer ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
interface Contacts {
  phone?: string | null | undefined;
  email?: string | null | undefined;
}

/**
 * Returns the phone and the email of a customer in a form that is equal for different spellings: the digits of the phone with `+` for `00`,
 * the email in lower case. A local phone number is not completed: `600 100 200` and `+48 600 100 200` are two people here.
 */
export function normalizeContacts({ phone, email }: Contacts): string[] {
  const digits = (phone ?? "").replace(/\(0\)/g, "").replace(/[^\d+]/g, "");
  const contacts: string[] = [];
  if (/\d/.test(digits)) contacts.push(`phone ${digits.replace(/^00/, "+")}`);
  const address = (email ?? "").trim().toLowerCase();
  if (address !== "") contacts.push(`email ${address}`);
  return contacts;
}
