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
  if (total === 0 && kind === "" && problems === "" && query === "") return <FirstSteps />;
  const shown = items.filter((entry) => getPosition(entry) > after);
  const count = list.problems > 0 && after === "" ? ` ${list.problems}` : "";
  return (
    <div class={open === "" ? "" : "split"}>
      <section class="list" aria-label="Traffic">
        <nav class="filters" aria-label="Filter">
          <Filter label="All" isOn={kind === "" && problems === ""} change={{ kind: "", problems: "" }} />
          <Filter label="Requests" isOn={kind === "request"} change={{ kind: "request" }} />
          <Filter label="Webhooks" isOn={kind === "delivery"} change={{ kind: "delivery" }} />
          <Filter
            label={`Problems${count}`}
            isOn={problems !== ""}
            change={{ problems: problems === "" ? "true" : "" }}
          />
          <Search label="Card id, event id, path, status…" />
          {shown.length > 0 && <Filter label="Clear" change={{ after: getPosition(items[0]), open: "" }} />}
        </nav>
        <Rows entries={shown} open={open} toAddress={(id) => addressWith({ open: id })} />
        <p class="note">
          {error}
          {total > limit && `The newest ${limit} of ${total}: search for others. `}
          {total === 0 && "Nothing matches the filters. "}
          {after !== "" && <a href={addressWith({ after: "" })}>Show what came before</a>}
        </p>
      </section>
      {open !== "" && <Detail id={open} key={open} />}
    </div>
  );
}

const Filter = ({ label, isOn = undefined, change }) => (
  <a class="button" href={addressWith(change)} aria-current={isOn}>
    {label}
  </a>
);

/** The ids of requests and events contain the time and a counter: they sort in the order of creation. */
const getPosition = ({ id, eventId = id }) => eventId.split("_")[1];
