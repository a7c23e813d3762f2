/** Card links: the addresses of a card's page, wallets and wallet buttons. */
import { describe, expect, it } from "vitest";
import { cardLinks } from "../src/links.ts";

const page = "https://cards.test/cards/abc";

describe("cardLinks", () => {
  it("returns the page, both wallet links and both buttons of a card or of its address", () => {
    expect(cardLinks({ publicUrl: page })).toEqual({
      page,
      addToFirstWallet: `${page}/pass.pkpass`,
      addToSecondWallet: `${page}/google`,
      firstWalletButton: "https://cards.test/assets/add-to-apple-wallet.svg",
      secondWalletButton: "https://cards.test/assets/add-to-google-wallet.svg",
    });
    expect(cardLinks(page)).toEqual(cardLinks({ publicUrl: page }));
  });

  it("writes the configured wallet names into the second link and into both buttons", () => {
    const { addToFirstWallet, addToSecondWallet, firstWalletButton, secondWalletButton } = cardLinks(page, {
      wallets: { first: "fruit", second: "robot" },
    });
    expect([addToFirstWallet, addToSecondWallet]).toEqual([`${page}/pass.pkpass`, `${page}/robot`]);
    expect([firstWalletButton, secondWalletButton]).toEqual([
      "https://cards.test/assets/add-to-fruit-wallet.svg",
      "https://cards.test/assets/add-to-robot-wallet.svg",
    ]);
  });

  it("keeps the default of the wallet whose name is absent", () => {
    const { firstWalletButton, addToSecondWallet } = cardLinks(page, { wallets: { second: "robot" } });
    expect(firstWalletButton).toBe("https://cards.test/assets/add-to-apple-wallet.svg");
    expect(addToSecondWallet).toBe(`${page}/robot`);
    expect(cardLinks(page, { wallets: { first: undefined }, baseUrl: undefined })).toEqual(cardLinks(page));
  });

  it.each(["https://service.test/loyalty/", new URL("https://service.test/loyalty")])(
    "builds the button addresses from the baseUrl %s",
    (baseUrl) => {
      const { firstWalletButton, addToFirstWallet } = cardLinks(page, { baseUrl });
      expect(firstWalletButton).toBe("https://service.test/loyalty/assets/add-to-apple-wallet.svg");
      expect(addToFirstWallet).toBe(`${page}/pass.pkpass`);
    },
  );

  it("keeps a query after the path, leaves it out of the buttons, and escapes names", () => {
    const links = cardLinks(`${page}/?lang=pl`, { wallets: { first: "a", second: "../x" } });
    expect(links.addToFirstWallet).toBe(`${page}/pass.pkpass?lang=pl`);
    expect(links.addToSecondWallet).toBe(`${page}/..%2Fx?lang=pl`);
    expect(links.secondWalletButton).toBe("https://cards.test/assets/add-to-..%2Fx-wallet.svg");
  });

  it("returns normalized URLs, which are safe in an HTML attribute", () => {
    expect(cardLinks('  https://cards.test/"><script>').page).toBe("https://cards.test/%22%3E%3Cscript%3E");
  });

  it.each(["", ".", ".."])("rejects the wallet name %j", (name) => {
    expect(() => cardLinks(page, { wallets: { first: name } })).toThrow(/wallets\.first must be/);
    expect(() => cardLinks(page, { wallets: { second: name } })).toThrow(/wallets\.second must be/);
  });

  it("throws an error that says to await a promise", () => {
    expect(() => cardLinks(Promise.resolve({ publicUrl: page }) as never)).toThrow(
      /cardLinks got a promise instead of a card: await it/,
    );
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "cards.test", "", undefined, null, {}])(
    "rejects the address %s, which is not safe as a link",
    (address) => {
      expect(() => cardLinks(address as string)).toThrow(/publicUrl is not an http or https address/);
      const baseUrl = address ?? "undefined";
      expect(() => cardLinks(page, { baseUrl: baseUrl as string })).toThrow(/baseUrl is not an http/);
    },
  );
});
