/** The operations of a card, newest first, and the button that cancels one. */
import { h } from "./dom.js";
import { numberText, signed } from "./format.js";
import { button, empty, table } from "./parts.js";
import { timeElement } from "./service-clock.js";

const typeNames = {
  purchase: "Purchase",
  redemption: "Redemption",
  reward: "Reward",
  correction: "Correction",
  cancellation: "Cancellation",
};

export function historyTable({ items, total }) {
  if (total === 0)
    return empty("No operations yet", "Record a purchase above. The service then sends balance.changed.");
  return table(
    "History, newest first",
    [["Time"], ["Operation"], ["Change", "number"], ["Balance", "number"], ["", "last"]],
    items.map(({ id, type, change, balance, createdAt, isCancelled }) => [
      id,
      timeElement(createdAt),
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
