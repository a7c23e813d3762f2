/** Shows the QR code and the wallet buttons of a card. */
// #region links
import { qrCodeSvg, walletButtonsHtml } from "@loyalty-cards/issuing-client/links"; // on a server and in a browser

export function showCard(publicUrl: string): string {
  return `<section>${qrCodeSvg(publicUrl)} ${walletButtonsHtml(publicUrl)}</section>`;
}
// #endregion
