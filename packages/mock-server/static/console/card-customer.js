/** The customer of a card, and the consent to news and offers. */
import { callAsWebsite, getSandbox } from "./api.js";
import { showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { button, copyable, facts, panel } from "./parts.js";

/** Uses the public API: the control API has no consents. */
export async function changeConsent(id, marketing) {
  const { apiKeys } = await getSandbox();
  await callAsWebsite("PUT", `passes/${encodeURIComponent(id)}/consent`, apiKeys.website, { marketing });
  showToast(marketing ? "Consent given." : "Consent withdrawn.");
}

export function customerPanel({ customer }, others) {
  const { id, name, phone, email, marketingConsent, privacyVersion } = customer;
  return panel(
    "Customer",
    facts(
      ["Name", name ?? "–"],
      ["Phone", phone ?? "–"],
      ["Email", email ?? "–"],
      ["Privacy text", privacyVersion ?? "–"],
      [
        "News and offers",
        h(
          "span",
          { class: "choice" },
          h("span", {}, marketingConsent ? "Given" : "Not given"),
          marketingConsent
            ? button("Withdraw", "withdraw-consent", { kind: "small", "data-key": "withdraw" })
            : button("Give", "give-consent", { kind: "small", "data-key": "give" }),
        ),
      ],
      ["Customer id", copyable(id, "the customer's id")],
      others.length > 0 && [
        "Other cards",
        others.map((other) =>
          h("a", { class: "line", href: `#/card/${encodeURIComponent(other.id)}` }, other.id),
        ),
      ],
    ),
  );
}
