/** The traffic: requests of the app and deliveries of webhooks in one list, newest first, with filters in the address. */
import { addressWith, get } from "./api.js";
import { Detail } from "./detail.jsx";
import { Rows } from "./rows.jsx";
import { Search, useAddress, useReading } from "./service.jsx";
import { FirstSteps } from "./setup.jsx";

const limit = 100;

export function TrafficView() {
  const { kind = "", problems = "", query = "", after = "", open = "" } = useAddress().parameters;
  const list = useReading(() => get("traffic", { kind, problems, query, limit }), kind, problems, query);
  if (list === undefined) return null;
  const { items = [], total = 0, error } = list;
  const shown = items.filter((entry) => getPosition(entry) > after);
  const count = list.problems > 0 && after === "" ? ` ${list.problems}` : "";
  const isFiltered = kind !== "" || problems !== "" || query !== "";
  return (
    <div class={open === "" ? "" : "split"}>
      <section class="list" aria-label="Traffic">
        <nav class="filters" aria-label="Filter">
          <Filter isOn={kind === "" && problems === ""} change={{ kind: "", problems: "" }}>
            All
          </Filter>
          <Filter isOn={kind === "request"} change={{ kind: "request" }}>
            Requests
          </Filter>
          <Filter isOn={kind === "delivery"} change={{ kind: "delivery" }}>
            Webhooks
          </Filter>
          <Filter isOn={problems !== ""} change={{ problems: problems === "" ? "true" : "" }}>
            Problems{count}
          </Filter>
          <Search label="Card id, event id, path, status…" />
          {shown.length > 0 && <Filter change={{ after: getPosition(items[0]), open: "" }}>Clear</Filter>}
        </nav>
        <Rows entries={shown} open={open} toAddress={(id) => addressWith({ open: id })} />
        {error && <p class="error">{error}</p>}
        {items.length === 0 && !isFiltered && <FirstSteps />}
        <p class="note">
          {total > limit && `The newest ${limit} of ${total}: search for others. `}
          {items.length === 0 && isFiltered && "Nothing matches the filters. "}
          {after !== "" && <a href={addressWith({ after: "" })}>Show what came before</a>}
        </p>
      </section>
      {open !== "" && <Detail id={open} key={open} />}
    </div>
  );
}

const Filter = ({ isOn = undefined, change, children }) => (
  <a class="button" href={addressWith(change)} aria-current={isOn}>
    {children}
  </a>
);

/** The ids of requests and events contain the time and a counter: they sort in the order of creation. */
const getPosition = ({ id, eventId = id }) => eventId.split("_")[1];
