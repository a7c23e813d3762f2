/** The choice of sandboxes, when there are several. */
import { get, sandboxId } from "./api.js";
import { findTarget, getElement, h, patch } from "./dom.js";

export async function showSandboxes() {
  const { items } = await get("sandboxes").catch(() => ({ items: [] })); // the page shows the error
  if (items.length < 2) return;
  const options = items.map(({ id }) =>
    h("option", { value: id, selected: id === (sandboxId ?? "default") }, id),
  );
  patch(
    getElement("sandbox"),
    h("label", {}, h("span", {}, "Sandbox"), h("select", { "data-sandbox": true }, options)),
  );
}

document.addEventListener("change", (event) => {
  const choice = findTarget(event, "[data-sandbox]");
  if (choice !== null) location.search = `?sandbox=${encodeURIComponent(choice.value)}`;
});
