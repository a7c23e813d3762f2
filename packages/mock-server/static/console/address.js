/** The part of the address that has the page, its filters and its number: `#/cards?query=anna&page=2`. */

/** The number of items on a page of a list. */
export const pageSize = 20;

/** @returns the page's name, the id in the address, and its parameters; `offset` is the position of the page in its list. */
export function readAddress() {
  const [place = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", id = ""] = place.split("/").map(decoded);
  const { page, ...filters } = Object.fromEntries(new URLSearchParams(search));
  const number = /^[1-9]\d{0,8}$/.test(page ?? "") ? Number(page) : 1;
  return { name, id, filters, offset: (number - 1) * pageSize };
}

/** The address of the open page with other parameters; an empty value removes a parameter. */
export function addressWith(parameters) {
  const [place, search] = location.hash.split("?");
  const all = new URLSearchParams(search);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === "") all.delete(name);
    else all.set(name, value);
  }
  return all.size === 0 ? place : `${place}?${all}`;
}

/** Returns an empty string for invalid percent-encoding, so that the first page opens. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
