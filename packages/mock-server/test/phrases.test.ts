/** What a row of the traffic says, as a table. */
import { describe, expect, it } from "vitest";
import { describeAction, describeEvent, describeRequest } from "../src/control/phrases.ts";
import type { Action } from "../src/domain/state.ts";

const card = { loyaltyBalance: 140, loyaltyTier: "Silver" };
const lost = { kind: "destroy", phase: "after-commit" } as const;

describe("a row says", () => {
  it.each([
    [{ operation: "issueCard" }, card, "new card"],
    [{ operation: "issueCard", reason: "replay" }, card, "same key: the first card again"],
    [{ operation: "issueCard", reason: "unknown key" }, {}, "unknown key"],
    [{ operation: "getCard" }, card, "140 points, Silver"],
    [{ operation: "getCard" }, { loyaltyBalance: 0, loyaltyTier: null }, "0 points"],
    [{ operation: "listOperations" }, { items: [1] }, "1 operation"],
    [{ operation: "listOperations" }, undefined, ""], // a body that was cut
    [{ operation: "listOperations", reason: "unknown key" }, { status: 401 }, "unknown key"],
    [{ operation: "getConsent" }, { marketingConsent: false }, "marketing not given"],
    [{ operation: "setConsent" }, { marketingConsent: false }, "marketing withdrawn"],
    [{ operation: "setConsent" }, { marketingConsent: true }, "marketing given"],
    [{ reason: "There is no GET /api/v1/x" }, {}, "There is no GET /api/v1/x"],
    [{ operation: "issueCard", fault: lost }, undefined, "response lost; the card exists"],
    [{ operation: "setConsent", fault: lost }, undefined, "response lost; the consent is stored"],
    [{ operation: "getCard", fault: lost }, undefined, "response lost"],
    [
      { operation: "issueCard", fault: { kind: "truncate", phase: "after-commit" } },
      undefined,
      "response cut; the card exists",
    ],
    [
      {
        operation: "issueCard",
        reason: "injected fault",
        fault: { kind: "hang", phase: "before" },
      },
      undefined,
      "response lost; nothing was done",
    ],
    [
      {
        operation: "issueCard",
        reason: "injected fault",
        fault: { kind: "status", phase: "before" },
      },
      {},
      "injected fault; nothing was done",
    ],
    [
      { operation: "issueCard", fault: { kind: "status", phase: "after-commit" } },
      {},
      "injected fault; the card exists",
    ],
    [
      { operation: "issueCard", fault: { kind: "latency", phase: "before" } },
      card,
      "injected delay; new card",
    ],
    [
      {
        operation: "issueCard",
        reason: "customer.consents is missing",
        fault: { kind: "latency", phase: "before" },
      },
      {},
      "injected delay; customer.consents is missing",
    ],
    [
      { operation: "issueCard", reason: "replay", fault: { kind: "latency", phase: "before" } },
      card,
      "same key: the first card again",
    ],
  ] as const)("of the request %j with %j: %s", (request, result, phrase) => {
    expect(describeRequest(request, result)).toBe(phrase);
  });

  it.each([
    ["balance.changed", { change: 20, balance: 140 }, "+20 → 140"],
    ["balance.changed", { change: -0.5, balance: 1234567.25 }, "−0.5 → 1,234,567.25"],
    ["tier.changed", { tier: "Silver", previous: null }, "Silver"],
    ["tier.changed", { tier: "Gold", previous: "Silver" }, "Gold (before: Silver)"],
    ["tier.changed", { tier: null, previous: "Silver" }, "no tier (before: Silver)"],
    ["consent.changed", { marketingConsent: true }, "marketing given"],
    ["consent.changed", { marketingConsent: false }, "marketing withdrawn"],
    ["card.added", { wallet: "apple" }, "added to Apple Wallet"],
    ["card.removed", { wallet: "google" }, "removed from Google Wallet"],
    ["ping", {}, "test"],
  ] as const)("of the event %s with %j: %s", (type, data, phrase) => {
    expect(describeEvent(type, data)).toBe(phrase);
  });

  it.each([
    [{ type: "purchase", change: 20 }, "+20"],
    [{ type: "redemption", change: -1250 }, "−1,250"],
    [{ type: "correction", change: 0.000001 }, "+0.000001"],
    [{ type: "cancellation", change: -20 }, "−20"],
    [{ type: "reward", change: 5 }, "+5"],
    [{ type: "expiry", change: -50 }, "−50"],
    [{ type: "expiry", change: -50, keepsBalance: true }, "50 points; they stay"],
    [{ type: "wallet", wallet: "apple", isAdded: true }, "added to Apple Wallet"],
    [{ type: "wallet", wallet: "apple", isAdded: false }, "removed from Apple Wallet"],
    [{ type: "status", status: "blocked" }, "blocked"],
  ] as const)("of the action %j: %s", (details, phrase) => {
    const action: Action = { kind: "action", id: "act_1", at: "", cardId: "card_1", ...details };
    expect(describeAction(action)).toBe(phrase);
  });
});
