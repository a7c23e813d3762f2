/** Who the member of a row is: the id in the shop, and how the service finds the customer. */
import {
  type FieldReading,
  type MappedRecord,
  readIdentifierText,
  readText,
  toProblem,
} from "./mapped-record.ts";
import type { Target } from "./mapping.ts";

export interface Identity {
  userId: string;
  phone: string;
  email: string;
  name: string;
}

/**
 * The reading of each value by itself, so that a duplicate is found beside another problem of its
 * row.
 */
export type IdentityReadings = { [Name in keyof Identity]: FieldReading<string> };

export const readIdentity = (mapped: MappedRecord): IdentityReadings => ({
  userId: readUserId(mapped),
  phone: readIdentifier(mapped, "phone", isPhone, "is not a phone number"),
  email: readIdentifier(mapped, "email", isEmail, "is not an email address"),
  name: readText(mapped, "name"),
});

function readUserId(mapped: MappedRecord): FieldReading<string> {
  const userId = readIdentifier(mapped, "userId", isUserId, "is too long or not Unicode");
  if (userId.value !== "") return userId;
  return { failure: [toProblem(mapped, "missing", "is missing", "userId")] };
}

const isUserId = (text: string) => text.length <= 255 && text.isWellFormed();
const isPhone = (text: string) => /^(?:\+|00)?\d{4,15}$/.test(text.replace(/[\s().\-/]/g, ""));
const isEmail = (text: string) =>
  text.length <= 254 && /^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@.,;<>"]+$/.test(text);

/** Reads a text that identifies the member, or is empty. */
function readIdentifier(
  mapped: MappedRecord,
  target: Target,
  isValid: (text: string) => boolean,
  message: string,
): FieldReading<string> {
  const reading = readIdentifierText(mapped, target);
  if (reading.failure !== undefined) return reading;
  const text = reading.value;
  // Two values can look the same and differ in an invisible character.
  const invisible = /[\p{Cc}\p{Cf}]/u.exec(text)?.[0];
  if (invisible !== undefined) {
    const code = invisible.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    const found = `has an invisible character (U+${code}): remove it`;
    return { failure: [toProblem(mapped, "invisible", found, target)] };
  }
  if (text === "" || isValid(text)) return reading;
  return { failure: [toProblem(mapped, `invalid-${target}`, message, target)] };
}
