/** Shows what is wrong beside each input of a form. */
// #region field-messages
import { isIssuingError } from "@loyalty-cards/issuing-client";

/**
 * The message for each input, by the JSON Pointer of its value: `/customer/phone`,
 * `/fieldValues/name`.
 */
export function toFieldMessages(error: unknown): Map<string, string> {
  if (!isIssuingError(error) || error.code !== "validation") throw error;
  return new Map(
    error.fields.map(({ pointer, detail }) => [
      pointer,
      detail ?? "Please check this value.",
    ]),
  );
}
// #endregion
