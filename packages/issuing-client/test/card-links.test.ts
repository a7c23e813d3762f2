/**
 * Card links: the addresses of a card's page, wallets and wallet buttons, and the QR code as SVG.
 */
import jsQR from "jsqr";
import { describe, expect, it } from "vitest";
import { createIssuingClient } from "../src/index.ts";
import { cardLinks, qrCodeSvg } from "../src/links.ts";

const page = "https://cards.test/cards/abc";

describe("the cardLinks of a client", () => {
  const loyalty = createIssuingClient({ baseUrl: "https://service.test/loyalty/", apiKey: "k" });

  it("has the buttons at the client's baseUrl, also when the pages are on another host", () => {
    expect(loyalty.cardLinks({ publicUrl: "https://pages.test/abc" })).toEqual({
      page: "https://pages.test/abc",
      addToFirstWallet: "https://pages.test/abc/pass.pkpass",
      addToSecondWallet: "https://pages.test/abc/google",
      firstWalletButton: "https://service.test/loyalty/assets/add-to-apple-wallet.svg",
      secondWalletButton: "https://service.test/loyalty/assets/add-to-google-wallet.svg",
    });
  });

  it("takes the options of cardLinks", () => {
    const options = { baseUrl: "https://images.test", wallets: { second: "robot" } };
    expect(loyalty.cardLinks(page, options)).toEqual(cardLinks(page, options));
    expect(loyalty.cardLinks(page, { baseUrl: undefined })).toEqual(loyalty.cardLinks(page));
  });

  it("rejects a promise, and says to await it", () => {
    for (const links of [loyalty.cardLinks, cardLinks])
      expect(() => links(Promise.resolve({ publicUrl: page }) as never)).toThrow(
        /cardLinks got a promise instead of a card: await it/,
      );
  });
});

describe("cardLinks", () => {
  const links = {
    page,
    addToFirstWallet: `${page}/pass.pkpass`,
    addToSecondWallet: `${page}/google`,
    firstWalletButton: "https://cards.test/assets/add-to-apple-wallet.svg",
    secondWalletButton: "https://cards.test/assets/add-to-google-wallet.svg",
  };
  const second = {
    addToSecondWallet: `${page}/robot`,
    secondWalletButton: "https://cards.test/assets/add-to-robot-wallet.svg",
  };
  const first = { firstWalletButton: "https://cards.test/assets/add-to-fruit-wallet.svg" };

  it("returns the page, both wallet links and both buttons of a card or of its address", () => {
    for (const card of [page, { publicUrl: page }]) expect(cardLinks(card)).toEqual(links);
  });

  it("writes the configured wallet names into the second link and both buttons, and keeps the default of an absent one", () => {
    const wallets = { first: "fruit", second: "robot" };
    expect(cardLinks(page, { wallets })).toEqual({ ...links, ...first, ...second });
    expect(cardLinks(page, { wallets: { second: "robot" } })).toEqual({ ...links, ...second });
    expect(cardLinks(page, { wallets: { first: undefined }, baseUrl: undefined })).toEqual(links);
  });

  it("expects the buttons on the origin of the page, or at the baseUrl", () => {
    const { firstWalletButton } = cardLinks("https://pages.test/shop/cards/abc");
    expect(firstWalletButton).toBe("https://pages.test/assets/add-to-apple-wallet.svg");
    for (const baseUrl of [
      "https://service.test/loyalty/",
      new URL("https://service.test/loyalty"),
    ])
      expect(cardLinks(page, { baseUrl })).toEqual({
        ...links,
        firstWalletButton: "https://service.test/loyalty/assets/add-to-apple-wallet.svg",
        secondWalletButton: "https://service.test/loyalty/assets/add-to-google-wallet.svg",
      });
  });

  it("keeps a query after the path, leaves it out of the buttons, and escapes names", () => {
    const links = cardLinks(`${page}/?lang=pl`, { wallets: { first: "a", second: "../x" } });
    expect(links.addToFirstWallet).toBe(`${page}/pass.pkpass?lang=pl`);
    expect(links.addToSecondWallet).toBe(`${page}/..%2Fx?lang=pl`);
    expect(links.secondWalletButton).toBe("https://cards.test/assets/add-to-..%2Fx-wallet.svg");
  });

  it("takes an address of 100 000 slashes without blocking", () => {
    const long = `${page}${"/".repeat(100_000)}x`;
    expect(cardLinks(long).addToFirstWallet).toBe(`${long}/pass.pkpass`);
  });

  it("returns normalized URLs, which are safe in an HTML attribute", () => {
    expect(cardLinks('  https://cards.test/"><script>').page).toBe(
      "https://cards.test/%22%3E%3Cscript%3E",
    );
  });

  it.each([undefined, null])("asks for the card in place of %s", (card) => {
    for (const read of [cardLinks, qrCodeSvg])
      expect(() => read(card as never)).toThrow(
        `cardLinks got ${card} instead of a card: is the card issued, and is the call that returns it awaited?`,
      );
  });

  it("asks whether the card is issued for an entry without an address", () => {
    for (const waiting of [{ state: "waiting" }, { publicUrl: null }])
      expect(() => cardLinks(waiting as never)).toThrow(
        "publicUrl is not an http or https address: it is missing. Is the card issued, and is the call that returns it awaited?",
      );
  });

  it("rejects an option that it does not have", () => {
    expect(() => cardLinks(page, { baseURL: page } as object)).toThrow(
      'cardLinks has no option "baseURL". Did you mean baseUrl?',
    );
    expect(() => cardLinks(page, { wallets: { frist: "apple" } as object })).toThrow(
      'wallets of cardLinks has no option "frist". Did you mean first?',
    );
    for (const make of [cardLinks, createIssuingClient().cardLinks])
      expect(() => make(page, null as never)).toThrow("cardLinks takes an object: { baseUrl,");
    expect(() => qrCodeSvg(page, { size: 320 } as object)).toThrow(
      'qrCodeSvg has no option "size". Did you mean sizePx?',
    );
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "cards.test", "", {}])(
    "rejects the address %s, which is not safe as a link",
    (address) => {
      for (const read of [cardLinks, qrCodeSvg])
        expect(() => read(address as string)).toThrow(/publicUrl is not an http or https address/);
      expect(() => cardLinks(page, { baseUrl: address as string })).toThrow(
        /baseUrl is not an http/,
      );
    },
  );
});

describe("qrCodeSvg", () => {
  it("draws the address of the card's page", () => {
    const svg = qrCodeSvg({ publicUrl: page });
    const [, size = ""] = /viewBox="0 0 (\d+) \d+"/.exec(svg) ?? [];
    const width = Number(size);
    const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
    for (const [, x, y, length] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
      const start = (Number(y) * width + Number(x)) * 4;
      for (let pixel = 0; pixel < Number(length); pixel++)
        pixels.fill(0, start + pixel * 4, start + pixel * 4 + 3);
    }
    expect(jsQR(pixels, width, width)?.data).toBe(page);
  });

  it("has a size and an accessible name", () => {
    expect(qrCodeSvg(page)).toMatch(/ width="240" height="240" .* role="img" aria-label="QR code"/);
    expect(qrCodeSvg(page, { sizePx: 320.5 })).toContain(' width="320.5" height="320.5" ');
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, "240"])("refuses the size %s", (sizePx) => {
    expect(() => qrCodeSvg(page, { sizePx: sizePx as number })).toThrow(
      /sizePx must be a number above 0/,
    );
  });

  it("draws an address of 2 331 bytes, and refuses a longer one", () => {
    const longest = `https://cards.test/${"a".repeat(2331 - 19)}`;
    expect(qrCodeSvg(longest)).toContain('viewBox="0 0 185 185"');
    expect(() => qrCodeSvg(`${longest}a`)).toThrow(RangeError);
  });
});
