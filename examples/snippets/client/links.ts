/** Shows the QR code and the wallet buttons of a card. */
// #region links
// on a server and in a browser
import { qrCodeSvg, walletButtonsHtml } from "@loyalty-cards/issuing-client/links";

export function showCard(publicUrl: string): string {
  return `<section>${qrCodeSvg(publicUrl)} ${walletButtonsHtml(publicUrl)}</section>`;
}
// #endregion
