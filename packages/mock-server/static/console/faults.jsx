/** The faults: presets to inject, and a chip with the same words for each that is active. */

import { formatNumber } from "@loyalty-cards/internal/format";
import { control, get } from "./api.js";
import { Button } from "./controls.jsx";
import { useReading, useService } from "./polling.jsx";

/** Those that the list offers. The control API has more: other kinds, requests and numbers. */
const presets = {
  "Requests of your app": [
    { kind: "status", phase: "before", status: 503, times: 1 },
    { kind: "destroy", phase: "after-commit", times: 1, match: { operation: "issueCard" } },
    { kind: "status", phase: "before", status: 503 },
    { kind: "latency", phase: "before", delayMs: 3000 },
    { kind: "status", phase: "before", status: 429, retryAfterSeconds: 2, times: 1 },
  ],
  "Webhooks to your app": [
    { kind: "fail", status: 500, times: 1 },
    { kind: "fail", status: 500, times: 3 },
    { kind: "fail" },
    { kind: "duplicate", times: 1 },
    { kind: "reorder", times: 1 },
  ],
};

export function FaultSelect() {
  const { isLost, perform } = useService();
  const inject = ({ currentTarget: select }) => {
    const name = select.value;
    const fault = Object.values(presets)
      .flat()
      .find((preset) => getName(preset) === name);
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
      <option value="">Fault…</option>
      {Object.entries(presets).map(([group, faults]) => (
        <optgroup label={group}>
          {faults.map((fault) => (
            <option>{getName(fault)}</option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

export function ActiveFaults() {
  const faults = useReading(() => get("faults"))?.items ?? [];
  if (faults.length === 0) return null;
  const chips = groupEqual(faults);
  return (
    <section class="faults" aria-label="Active faults">
      <p>Active{chips.length > 1 && "; the first that fits applies"}:</p>
      {chips.map(({ name, ids }) => (
        <span class="chip" key={name}>
          {name}
          <Button run={() => Promise.all(ids.map(remove))} aria-label={`Remove: ${name}`}>
            ✕
          </Button>
        </span>
      ))}
    </section>
  );
}

const remove = (id) => control("DELETE", `faults/${id}`);

/** Equal faults apply one after the other, as one that applies more often. */
function groupEqual(faults) {
  const groups = new Map();
  for (const fault of faults) {
    const name = getName({ ...fault, times: fault.times && 1 });
    groups.set(name, [...(groups.get(name) ?? []), fault]);
  }
  return Array.from(groups.values(), (equal) => {
    const times = equal[0].times && equal.reduce((sum, fault) => sum + fault.times, 0);
    return { name: getName({ ...equal[0], times }), ids: equal.map(({ id }) => id) };
  });
}

const getName = (fault) => `${describeTarget(fault)}: ${describeFault(fault)}`;

/** @param times undefined for a fault that stays until it is removed. */
function describeTarget({ kind, phase, match = {}, times }) {
  const ofWebhook = kind === "fail" ? "attempt" : "webhook";
  const noun = phase === undefined ? ofWebhook : "request";
  const named = [...Object.values(match), noun].join(" ");
  if (times === undefined) return `All ${named}s`;
  return times === 1 ? `Next ${named}` : `Next ${times} ${named}s`;
}

function describeFault({ kind, phase, status, delayMs, retryAfterSeconds }) {
  const names = {
    status: `${status}${retryAfterSeconds === undefined ? "" : `, Retry-After ${retryAfterSeconds} s`}`,
    latency: `${formatNumber(delayMs / 1000)} s late`,
    destroy: phase === "after-commit" ? "done, but the response is lost" : "connection closed",
    fail: `${status ?? "no response"}, not sent`,
    duplicate: "sent twice",
    reorder: "5 s late, after newer ones",
  };
  return names[kind] ?? kind;
}
