/** What a page shows: the QR code and the wallet buttons of a card as HTML, and what is wrong beside each input of a form. */
// #region links
import { cardLinks, qrCodeSvg } from "@loyalty-cards/issuing-client/links";

/** The addresses need no escaping: they have no quotes and no spaces. */
export function showCard(publicUrl: string): string {
  const links = cardLinks(publicUrl);
  return `${qrCodeSvg(publicUrl)}
    <a href="${links.addToFirstWallet}">
      <img src="${links.firstWalletButton}" alt="Add to Apple Wallet" height="48">
    </a>
    <a href="${links.addToSecondWallet}">
      <img src="${links.secondWalletButton}" alt="Add to Google Wallet" height="48">
    </a>`;
}

// #endregion

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
