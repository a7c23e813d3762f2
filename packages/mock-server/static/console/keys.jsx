/**
 * The keys of the console: they select and open rows, close what is open, and search; and the focus
 * that returns to the row.
 */
import { useEffect, useRef } from "preact/hooks";
import { address, addressWith, readAddress } from "./api.js";
import { openSearch } from "./search.jsx";

const help = {
  "↓ or j": "next row",
  "↑ or k": "previous row",
  Enter: "open; in the search: the only result",
  Esc: "close; in the search: clear it, then go to the list",
  Space: "scroll what is open",
  "/": "search",
  "?": "this list",
};

const symbols = {
  "←": "request of your app",
  "→": "webhook to your app",
  "·": "action on a card; after ✕: an attempt that may follow",
  "✕": "failed attempt",
  "✓": "delivered",
  "↻": "sent again with Resend",
  "—": "no response",
};

const actions = {
  ArrowDown: () => select(1),
  j: () => select(1),
  ArrowUp: () => select(-1),
  k: () => select(-1),
  Escape: close,
  "/": openSearch,
};

/** Moves the focus to another row, or what is open to another entry. */
function select(step) {
  /** @type {HTMLAnchorElement[]} */
  const rows = Array.from(document.querySelectorAll("a.row"));
  const opened = rows.findIndex((row) => row.ariaCurrent === "true");
  const from = opened >= 0 ? opened : rows.indexOf(/** @type {any} */ (document.activeElement));
  const next = rows[from < 0 ? 0 : from + step];
  if (next === undefined) return;
  if (opened >= 0) location.replace(next.href);
  else next.focus();
}

function close() {
  const { view, id, parameters } = readAddress();
  if (parameters.open !== undefined) location.hash = addressWith({ open: "" });
  else if (id !== "") location.hash = address([view], parameters);
}

/**
 * Moves the focus to what is opened, because a phone hides the list, and back to its row when it is
 * closed, unless a link of the bar, a filter or the search has the focus.
 * @param open the id of what is open, which is also that of its row.
 */
export function useReturnedFocus(open) {
  const earlier = useRef(open);
  useEffect(() => {
    if (open === earlier.current) return;
    // The links of the bar lead to the top; filters and the search change the list.
    const isLeft = document.activeElement?.matches(".bar a, .filters *");
    if (!isLeft)
      document.getElementById(open || earlier.current)?.scrollIntoView({ block: "nearest" });
    const row = () => document.getElementById(earlier.current);
    const target = open === "" ? row() : document.querySelector(".detail");
    earlier.current = open;
    if (isLeft) return;
    /** @type {HTMLElement | null} */ (target)?.focus({ preventScroll: open !== "" });
  }, [open]);
}

/** The arrows lead from the words of a search to what it found. */
const isTyped = (key, target) =>
  target.closest("input, select, textarea") !== null &&
  !(target.type === "search" && key.startsWith("Arrow"));

const List = ({ title, meanings }) => (
  <>
    <h2>{title}</h2>
    <dl>
      {Object.entries(meanings).map(([name, meaning]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  </>
);

/** A button that lists the keys and symbols, and what makes the keys work. */
export function Keys() {
  /** @type {import("preact").RefObject<HTMLDialogElement>} */
  const dialog = useRef(null);
  const show = () => dialog.current.showModal();
  useEffect(() => {
    const press = (event) => {
      const { key, target } = event;
      const isCommand = event.ctrlKey || event.metaKey || event.altKey;
      const isBehind = document.querySelector("dialog[open]") !== null;
      if (isCommand || isBehind || isTyped(key, target)) return;
      const act = key === "?" ? show : actions[key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button type="button" class="help" aria-label="Keys and symbols" onClick={show}>
        ?
      </button>
      <dialog ref={dialog} aria-label="Keys and symbols">
        <List title="Symbols" meanings={symbols} />
        <List title="Keys" meanings={help} />
        <button type="button" onClick={() => dialog.current.close()}>
          Close
        </button>
      </dialog>
    </>
  );
}
