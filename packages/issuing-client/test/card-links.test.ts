/** The addresses of a card. */
import { describe, expect, it } from "vitest";
import { cardLinks } from "../src/index.ts";

const page = "https://cards.test/cards/abc";
const wallets = { first: "apple", second: "google" };

describe("cardLinks", () => {
  it("needs only the card for its page and the first wallet", () => {
    expect(cardLinks({ publicUrl: page })).toEqual({ page, addToFirstWallet: `${page}/pass.pkpass` });
    expect(cardLinks(page)).toEqual(cardLinks({ publicUrl: page }));
  });

  it("names the second wallet when told its name, and the buttons when told the service's address", () => {
    expect(cardLinks(page, { wallets }).addToSecondWallet).toBe(`${page}/google`);
    expect(cardLinks(page, { wallets, baseUrl: "https://cards.test/" })).toEqual({
      page,
      addToFirstWallet: `${page}/pass.pkpass`,
      addToSecondWallet: `${page}/google`,
      firstWalletButton: "https://cards.test/assets/add-to-apple-wallet.svg",
      secondWalletButton: "https://cards.test/assets/add-to-google-wallet.svg",
    });
  });

  it("keeps a query behind the path, and escapes names", () => {
    expect(cardLinks(`${page}/?lang=pl`).addToFirstWallet).toBe(`${page}/pass.pkpass?lang=pl`);
    expect(cardLinks(page, { wallets: { first: "a", second: "../x" } }).addToSecondWallet).toBe(
      `${page}/..%2Fx`,
    );
  });

  it("gives addresses as a browser writes them, so that nothing breaks out of an attribute", () => {
    expect(cardLinks('  https://cards.test/"><script>').page).toBe("https://cards.test/%22%3E%3Cscript%3E");
  });

  it.each(["", ".", ".."])("refuses the wallet name %j", (second) => {
    expect(() => cardLinks(page, { wallets: { first: "apple", second } })).toThrow(/wallets/);
  });

  it("says of a promise that it has to be awaited", () => {
    expect(() => cardLinks(Promise.resolve({ publicUrl: page }) as never)).toThrow(
      /cardLinks got a promise instead of a card: await it/,
    );
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "cards.test", "", undefined, null, {}])(
    "refuses %s, which a page would turn into a link",
    (publicUrl) => {
      expect(() => cardLinks(publicUrl as string)).toThrow(/publicUrl is not an http or https address/);
      expect(() => cardLinks(page, { wallets, baseUrl: "javascript:alert(1)" })).toThrow(/baseUrl/);
    },
  );
});
