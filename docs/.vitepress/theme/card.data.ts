/** The card of the landing page, as the mock service renders it. */
import { cardWithCode } from "../../../packages/mock-server/src/pages/card-page.ts";

const view = {
  slug: "8sT2kq",
  publicUrl: "https://cards.example.com/cards/8sT2kq",
  shopName: "Corner Coffee Club",
  color: undefined,
  holder: "Anna",
  balance: 120,
  tier: "Silver",
  nextTier: { name: "Gold", missing: 380, from: 500, progressFrom: 100 },
  wallets: [],
};

declare const data: string;

export { data };

export default {
  /** The landing page has a heading of its own. */
  async load(): Promise<string> {
    const html = String(await cardWithCode(view));
    return html.replace(/<(\/?)h1\b/g, "<$1p").replace(' aria-live="polite"', "");
  },
};
