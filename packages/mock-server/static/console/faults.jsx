/** The faults: a list of presets to inject, and a chip for each that is active. */
import { control, get } from "./api.js";
import { formatNumber } from "./format.js";
import { Button, useReading, useService } from "./service.jsx";

/** The control API has more: other kinds, requests, events and numbers. */
const presets = {
  "Requests of your app": {
    "503 once": { kind: "status", phase: "before", status: 503, times: 1 },
    "response lost, card exists": {
      kind: "destroy",
      phase: "after-commit",
      times: 1,
      match: { operation: "issueCard" },
    },
    "503 until removed": { kind: "status", phase: "before", status: 503 },
    "slow 3 s until removed": { kind: "latency", phase: "before", delayMs: 3000 },
    "429 Retry-After 2": {
      kind: "status",
      phase: "before",
      status: 429,
      retryAfterSeconds: 2,
      times: 1,
    },
  },
  "Webhooks to your app": {
    "next 3 attempts get 500": { kind: "fail", status: 500, times: 3 },
    "all attempts get no response": { kind: "fail" },
    "next webhook twice": { kind: "duplicate", times: 1 },
    "next webhook after others": { kind: "reorder", times: 1 },
  },
};

export function FaultSelect() {
  const { isLost, perform } = useService();
  const inject = ({ currentTarget: select }) => {
    const { label } = select.selectedOptions[0].parentElement;
    const fault = presets[label][select.value];
    select.value = "";
    void perform(() => control("POST", "faults", fault));
  };
  // On a closed select an arrow key would choose the next preset at once.
  const openList = (event) => {
    if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    event.currentTarget.showPicker();
  };
  return (
    <select aria-label="Inject a fault" disabled={isLost} onChange={inject} onKeyDown={openList}>
      <option value="">Inject a fault…</option>
      {Object.entries(presets).map(([group, faults]) => (
        <optgroup label={group}>
          {Object.keys(faults).map((name) => (
            <option>{name}</option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

export function ActiveFaults() {
  const faults = useReading(() => get("faults"))?.items ?? [];
  if (faults.length === 0) return null;
  const requests = faults.filter(({ phase }) => phase !== undefined);
  const webhooks = faults.filter(({ phase }) => phase === undefined);
  return (
    <section class="faults" aria-label="Active faults">
      <Chips
        label="Requests of your app, not of the console, get the first that fits:"
        faults={requests}
      />
      <Chips label="Webhooks to your app:" faults={webhooks} />
    </section>
  );
}

const Chips = ({ label, faults }) =>
  faults.length > 0 && (
    <p class="actions">
      {label}
      {groupEqual(faults).map(({ name, ids }) => (
        <span class="chip" key={name}>
          {name}
          <Button run={() => Promise.all(ids.map(remove))} aria-label={`Remove: ${name}`}>
            ✕
          </Button>
        </span>
      ))}
    </p>
  );

const remove = (id) => control("DELETE", `faults/${id}`);

/** Equal faults apply one after the other, as one that applies more often. */
function groupEqual(faults) {
  const groups = new Map();
  for (const fault of faults) {
    const name = describeFault(fault);
    const { ids = [], times = 0 } = groups.get(name) ?? {};
    groups.set(name, { ids: [...ids, fault.id], times: times + fault.times });
  }
  return Array.from(groups, ([name, { ids, times }]) => ({
    name: name + describeTimes(times),
    ids,
  }));
}

/** @param times not a number for a fault that stays until it is removed. */
function describeTimes(times) {
  if (Number.isNaN(times)) return " · until removed";
  return times === 1 ? " · once" : ` · ×${times}`;
}

/** What a fault does, in the words of the presets, and the only call or event that it fits. */
function describeFault({ kind, phase, match = {}, status, delayMs, retryAfterSeconds }) {
  const names = {
    status: `${status}${retryAfterSeconds === undefined ? "" : ` Retry-After ${retryAfterSeconds}`}`,
    latency: `slow ${formatNumber(delayMs / 1000)} s`,
    destroy: phase === "after-commit" ? "response lost" : "connection closed",
    fail: status === undefined ? "no response" : String(status),
    duplicate: "twice",
    reorder: "after others",
  };
  return [names[kind] ?? kind, ...Object.values(match)].join(" · ");
}
