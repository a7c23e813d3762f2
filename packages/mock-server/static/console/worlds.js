/** The choice of worlds, when there are several. */
import { get, worldId } from "./api.js";
import { h, patch } from "./dom.js";

export async function showWorlds() {
  const { items } = await get("worlds").catch(() => ({ items: [] })); // the page shows the error
  if (items.length < 2) return;
  const options = items.map(({ id }) =>
    h("option", { value: id, selected: id === (worldId ?? "default") }, id),
  );
  patch(
    document.getElementById("world"),
    h("label", {}, h("span", {}, "World"), h("select", { "data-world": true }, options)),
  );
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-world]"))
    location.search = `?world=${encodeURIComponent(event.target.value)}`;
});
