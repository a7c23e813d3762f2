/** Brings phone numbers and e-mail addresses into the form they are compared in. */
import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/min";

/** An ISO 3166 code such as "PL". */
export type Country = string;

export const isKnownCountry = (country: Country): boolean => isSupportedCountry(country as CountryCode);

/** E.164, or undefined when malformed. Local formats are read as numbers of the default country (spec 2.3). */
export function normalPhone(phone: string, defaultCountry: Country): string | undefined {
  const parsed = parsePhoneNumberFromString(phone, {
    defaultCountry: defaultCountry as CountryCode,
    extract: false,
  });
  // Possible, not valid: which ranges are assigned changes monthly, and "malformed" is about the form.
  return parsed?.isPossible() ? parsed.number : undefined;
}

/** The form that HTML's `<input type="email">` accepts, with a dot in the domain. */
const emailForm =
  /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/i;

/** Lower case, or undefined when malformed. */
export function normalEmail(email: string): string | undefined {
  return email.length <= 254 && emailForm.test(email) ? email.toLowerCase() : undefined;
}
