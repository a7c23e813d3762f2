/** The QR code of a card, and its wallet buttons. */
// #region links
// app/member/links.tsx
import { cardLinks, qrCodeSvg } from "@loyalty-cards/issuing-client/links";

interface Props {
  card: { publicUrl: string };
}

export const QrCode = ({ card }: Props) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: generated from a validated address
  <span dangerouslySetInnerHTML={{ __html: qrCodeSvg(card) }} />
);

export function WalletButtons({ card }: Props) {
  const links = cardLinks(card);
  return (
    <div className="wallets">
      <a href={links.addToFirstWallet}>
        <img src={links.firstWalletButton} alt="Add to Apple Wallet" height={48} />
      </a>
      <a href={links.addToSecondWallet}>
        <img
          src={links.secondWalletButton}
          alt="Add to Google Wallet"
          height={48}
        />
      </a>
    </div>
  );
}
// #endregion
