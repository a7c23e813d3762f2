/** The field values of a row: text, or a number where the option `--number-field` says so. */
import type { FieldValues } from "@loyalty-cards/issuing-client";
import {
  combine,
  type FieldReading,
  type MappedRecord,
  readText,
  readValue,
  toProblem,
} from "./mapped-record.ts";
import type { MappingOptions, Target } from "./mapping.ts";

export function readFieldValues(
  mapped: MappedRecord,
  { numberField = [] }: MappingOptions,
): FieldReading<FieldValues> {
  const readings: Record<string, FieldReading<string | number>> = {};
  for (const target of mapped.mapping.keys()) {
    const [, key] = /^field\.(.+)$/.exec(target) ?? [];
    if (key === undefined) continue;
    const value = readValue(mapped, target);
    if (value === "") continue; // the service rejects the row if the field is required
    const isNumber = typeof value === "number" || numberField.includes(key);
    readings[key] = isNumber ? readNumber(mapped, target) : readText(mapped, target);
  }
  return combine<FieldValues>(readings);
}

function readNumber(mapped: MappedRecord, target: Target): FieldReading<number> {
  const value = readValue(mapped, target);
  const reading = typeof value === "number" ? { value: String(value) } : readText(mapped, target);
  if (reading.failure !== undefined) return reading;
  const number = Number(reading.value);
  const isDecimal = /^-?\d+(?:\.\d+)?$/.test(reading.value);
  if (isDecimal && Math.abs(number) <= Number.MAX_SAFE_INTEGER) return { value: number };
  const message = "is not a number such as 12 or 12.5, of at most 15 digits";
  return { failure: [toProblem(mapped, "invalid-number", message, target)] };
}
