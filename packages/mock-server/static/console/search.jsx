/** The search field of a list, and the key that leads to it. */
import { useEffect, useRef } from "preact/hooks";
import { address, addressWith, readAddress } from "./api.js";
import { useAddress, useService } from "./polling.jsx";

const typingPauseMs = 150;

const findField = () =>
  /** @type {HTMLElement | null} */ (document.querySelector('[type="search"]'));

/** Whether the next search field that appears gets the focus. */
let isWanted = false;

/** Focuses the search field; where there is none, that of the list which the view belongs to. */
export function openSearch() {
  const field = findField();
  isWanted = field === null;
  const { view } = readAddress();
  if (field === null) location.hash = address([view === "cards" ? view : ""]);
  else field.focus();
}

/** Focuses the row of what is open, or else the first; without rows, what scrolls. */
function focusList() {
  const targets = ["a.row[aria-current='true']", "a.row", "main"];
  const target = targets.map((selector) => document.querySelector(selector)).find(Boolean);
  /** @type {HTMLElement} */ (target).focus();
}

/** Quotes what the search found, in a row that does not show it. */
export const Found = ({ in: place, before, text, after }) => (
  <span class="found">
    in the {place}: {before}
    <mark>{text}</mark>
    {after}
  </span>
);

/** @param filters what a list is empty because of. */
export const NothingFound = ({ filters }) => (
  <p class="actions">
    Nothing matches: {filters.join(", ")}.
    <a class="button" href={address([readAddress().view])}>
      Show all
    </a>
  </p>
);

/**
 * Its words are `query` in the address, so that a reload or a link keeps them. Enter opens the
 * result, if it is the only one.
 * @param find returns the list of what the words find.
 * @param toAddress returns the address where an entry is open.
 */
export function Search({ label, find, toAddress }) {
  const { query = "" } = useAddress().parameters;
  const { perform } = useService();
  const [input, timer] = [useRef(null), useRef(0)];
  useEffect(() => {
    if (input.current !== document.activeElement) input.current.value = query;
  }, [query]);
  useEffect(() => {
    if (isWanted) input.current.focus();
    isWanted = false;
    return () => clearTimeout(timer.current); // the words are not those of another view
  }, []);
  // The address is replaced, so that a search is one entry of the browser's history and not one per
  // key.
  const search = (words) => location.replace(addressWith({ query: words, open: "" }));
  const type = ({ currentTarget: { value } }) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(search, typingPauseMs, value);
  };
  const press = ({ key, currentTarget: { value } }) => {
    if (key === "Escape" && value === "") focusList(); // with words, the browser clears them
    if (key !== "Enter" || value === "") return;
    clearTimeout(timer.current);
    search(value);
    void perform(async () => {
      const { items, total } = await find(value);
      if (total === 1) location.hash = toAddress(items[0].id);
    });
  };
  return (
    <input
      type="search"
      ref={input}
      aria-label={label}
      placeholder={label}
      onInput={type}
      onKeyDown={press}
    />
  );
}
