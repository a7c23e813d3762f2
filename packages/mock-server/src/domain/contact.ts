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
const domainForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;
/** And, before the @, letters and signs of all languages (RFC 6531). */
const nameForm = /^(?:[a-z0-9.!#$%&'*+/=?^_`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+$/u;

/** The form in which addresses are compared: lower case, the domain in ASCII; undefined when malformed. */
export function normalEmail(email: string): string | undefined {
  if (email.length > 254) return undefined;
  const lower = email.normalize("NFC").toLowerCase();
  const at = lower.indexOf("@");
  const [name, domain] = [lower.slice(0, Math.max(0, at)), asciiDomain(lower.slice(at + 1))];
  return nameForm.test(name) && domainForm.test(domain) ? `${name}@${domain}` : undefined;
}

/** "bücher.example" is "xn--bcher-kva.example" (RFC 5891). */
function asciiDomain(domain: string): string {
  const isMalformed = !/^[\p{L}\p{M}\p{N}.-]+$/u.test(domain) || /(?:^|\.)-|-(?:\.|$)/.test(domain);
  if (isMalformed || /^\p{ASCII}*$/u.test(domain)) return domain;
  return URL.canParse(`https://${domain}`) ? new URL(`https://${domain}`).hostname : domain;
}
