/** The addresses to show with a card. */
// #region links
import { type Card, cardLinks } from "@loyalty-cards/issuing-client";

export function addToWalletLinks(card: Card) {
  const { page, addToFirstWallet, addToSecondWallet } = cardLinks(card, {
    wallets: { first: "apple", second: "google" },
  });
  return { qrCode: page, addToFirstWallet, addToSecondWallet };
}
// #endregion
