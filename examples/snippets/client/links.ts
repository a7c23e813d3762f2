/** Shows the wallet buttons of a card. */
// #region links
import { cardLinks } from "@loyalty-cards/issuing-client/links"; // on a server and in a browser

export function walletButtons(publicUrl: string): string {
  const links = cardLinks(publicUrl);
  return `
    <a href="${links.addToFirstWallet}"><img src="${links.firstWalletButton}" alt="Add to Apple Wallet"></a>
    <a href="${links.addToSecondWallet}"><img src="${links.secondWalletButton}" alt="Add to Google Wallet"></a>`;
}
// #endregion
