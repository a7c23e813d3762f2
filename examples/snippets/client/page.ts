/** What a page shows: the QR code and the wallet buttons of a card as HTML, and what is wrong beside each input of a form. */
// #region links
// on a server and in a browser
import { cardLinks, qrCodeSvg } from "@loyalty-cards/issuing-client/links";

/** The addresses need no escaping: they are normalized, without quotes or spaces. */
export function showCard(publicUrl: string): string {
  const links = cardLinks(publicUrl);
  const toButton = (href: string, image: string, label: string) =>
    `<a href="${href}"><img src="${image}" alt="${label}" height="48"></a>`;
  return `<section>
    ${qrCodeSvg(publicUrl, { sizePx: 200 })}
    ${toButton(links.addToFirstWallet, links.firstWalletButton, "Add to Apple Wallet")}
    ${toButton(links.addToSecondWallet, links.secondWalletButton, "Add to Google Wallet")}
  </section>`;
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
