/** What happened to a card's balance, newest first, and how to take it back. */
import { h } from "./dom.js";
import { numberText, signed } from "./format.js";
import { button, empty, table } from "./parts.js";
import { timeOf } from "./service-clock.js";

const typeNames = {
  purchase: "Purchase",
  redemption: "Redemption",
  reward: "Reward",
  correction: "Correction",
  cancellation: "Cancellation",
};

export function historyOf({ items, total }) {
  if (total === 0)
    return empty(
      "Nothing has happened yet",
      "Record a purchase above; it appears here and goes out as balance.changed.",
    );
  return table(
    "History, newest first",
    [["When"], ["What"], ["Change", "number"], ["Balance", "number"], ["", "last"]],
    items.map(({ id, type, change, balance, createdAt, isCancelled }) => [
      id,
      timeOf(createdAt),
      [typeNames[type] ?? type, isCancelled && h("span", { class: "pill quiet" }, "Cancelled")],
      signed(change),
      numberText(balance),
      !isCancelled &&
        type !== "cancellation" &&
        button("Cancel", "cancel-operation", {
          id,
          kind: "small",
          "aria-label": `Cancel the ${(typeNames[type] ?? type).toLowerCase()} of ${signed(change)}`,
        }),
    ]),
  );
}
