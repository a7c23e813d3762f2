/**
 * The traffic: requests of the app, deliveries of webhooks and actions in one list, what happened
 * last first, with filters in the address.
 */

import { formatNumber } from "@loyalty-cards/internal/format";
import { useLayoutEffect, useState } from "preact/hooks";
import { addressWith, get } from "./api.js";
import { More, pageSize } from "./controls.jsx";
import { Detail } from "./detail.jsx";
import { formatMinute } from "./format.js";
import { useReturnedFocus } from "./keys.jsx";
import { useAddress, useReading, useService } from "./polling.jsx";
import { Rows, ways } from "./rows.jsx";
import { NothingFound, Search } from "./search.jsx";
import { FirstSteps } from "./setup.jsx";

/** What the list can be reduced to, as parameters of the address. */
const choices = {
  All: { kind: "", problems: "" },
  Requests: { kind: "request", problems: "" },
  Webhooks: { kind: "delivery", problems: "" },
  Problems: { kind: "", problems: "true" },
};

/** @returns the name of the choice that the parameters are. */
const getChosen = ({ kind = "", problems = "" }) =>
  Object.keys(choices).find(
    (name) => choices[name].problems === problems && (problems || choices[name].kind === kind),
  ) ?? "All";

export function TrafficView() {
  const { parameters } = useAddress();
  const { query = "", after = "", open = "" } = parameters;
  const chosen = getChosen(parameters);
  const { clock } = useService();
  const [limit, setLimit] = useState(pageSize);
  const filters = { ...choices[chosen], query, after };
  const isFiltered = Object.values(filters).some((value) => value !== "");
  // A list stays until the next one is read: it is empty because of its own filters.
  const list = useReading(
    async () => ({ ...(await get("traffic", { ...filters, open, limit })), isFiltered }),
    ...Object.values(filters),
    limit,
  );
  const filtering = [chosen === "All" ? "" : chosen, query && `“${query}”`].filter(Boolean);
  const toAddress = (id) => addressWith({ open: id });
  useReturnedFocus(open);
  if (list === undefined) return null;
  const { items = [], total = 0, error } = list;
  if (total === 0 && !list.isFiltered && error === undefined) return <FirstSteps />;
  const newest = items
    .map(({ position }) => position)
    .sort()
    .at(-1);
  const count = list.problems > 0 ? formatNumber(list.problems) : "";
  return (
    <div class={open === "" ? undefined : "split"}>
      <section class="list" aria-label="Traffic">
        <nav class="filters" aria-label="Filter">
          <span class="actions kinds">
            {Object.entries(choices).map(([name, change]) => (
              <Filter
                label={`${ways[change.kind] ?? ""} ${name} ${name === "Problems" ? count : ""}`.trim()}
                isOn={name === chosen}
                change={change}
              />
            ))}
          </span>
          <Search
            label="Name, id, event, status…"
            find={(words) => get("traffic", { ...filters, query: words, limit: 1 })}
            toAddress={toAddress}
          />
          <span class="count">
            <NewRows items={items} newest={newest}>
              {formatNumber(total)} {total === 1 ? "entry" : "entries"}
            </NewRows>
          </span>
          <Filter label="Hide older" change={{ after: newest ?? after, cleared: clock.now }} />
        </nav>
        <Rows entries={items} open={open} toAddress={toAddress} />
        <More shown={items.length} total={total} limit={limit} setLimit={setLimit} />
        {error && <p class="note">{error}</p>}
        {list.total === 0 && filtering.length > 0 && <NothingFound filters={filtering} />}
        {after !== "" && <Cleared at={parameters.cleared ?? clock.now} />}
      </section>
      {open !== "" && <Detail id={open} key={open} />}
    </div>
  );
}

/** Closes the detail, because its row may not be among those that are left. */
const Filter = ({ label, isOn = undefined, change }) => (
  <a class="button" href={addressWith({ ...change, open: "" })} aria-current={isOn}>
    {label}
  </a>
);

const Cleared = ({ at }) => (
  <p class="note">
    Traffic before {formatMinute(at)} is hidden.{" "}
    <a href={addressWith({ after: "", cleared: "" })}>Show it</a>
  </p>
);

/** Finds what scrolls: the list beside a detail, the view, or on a phone the page. */
const findScrolling = () => [...document.querySelectorAll(".list, main, .page")];

export function scrollToTop() {
  for (const element of findScrolling()) element.scrollTop = 0;
}

/** Leads to the entries that came while the list is scrolled; the children are there otherwise. */
function NewRows({ items, newest = "", children }) {
  const [seen, setSeen] = useState(/** @type {string | undefined} */ (undefined));
  useLayoutEffect(() => {
    const see = () => {
      const isAtTop = findScrolling().every(({ scrollTop }) => scrollTop === 0);
      setSeen((position) => (isAtTop || position === undefined ? newest : position));
    };
    see();
    addEventListener("scroll", see, true); // scroll events do not bubble
    return () => removeEventListener("scroll", see, true);
  }, [newest]);
  const count = items.filter(({ position }) => seen !== undefined && position > seen).length;
  if (count === 0) return children;
  return (
    <button type="button" onClick={scrollToTop}>
      {formatNumber(count)} new ↑
    </button>
  );
}
