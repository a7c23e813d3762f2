/** Faults: errors that are injected to test a website or a receiver. */
import { get, post, remove } from "./api.js";
import { getElement, h, patch, plural } from "./dom.js";
import { button, confirmAction, empty, field, form, heading, panel, showToast } from "./parts.js";

/** The title of each kind, its own fields in the form, and whether it applies to requests or to deliveries. */
const kinds = {
  status: { title: "An error status", fields: ["status", "retryAfterSeconds"], target: "requests" },
  latency: { title: "A delayed response", fields: ["delayMs"], target: "requests" },
  "in-progress": {
    title: "The first request is still running",
    fields: ["status", "durationMs", "retryAfterSeconds"],
    phases: ["before"],
    target: "requests",
  },
  reset: { title: "The connection is reset", fields: [], target: "requests" },
  destroy: { title: "The connection is closed", fields: [], target: "requests" },
  truncate: { title: "Half of the body", fields: [], target: "requests" },
  malformed: { title: "A malformed chunk", fields: [], target: "requests" },
  hang: { title: "No response", fields: [], target: "requests" },
  html: { title: "A gateway’s HTML page", fields: ["status"], target: "requests" },
  duplicate: { title: "A duplicate event", fields: [], target: "deliveries" },
  reorder: { title: "Events in another order", fields: [], target: "deliveries" },
  drop: { title: "An attempt is lost", fields: [], target: "deliveries" },
};

const phaseTitles = { before: "Before processing", "after-commit": "After the commit" };
const whole = (form) => ({ type: "number", inputmode: "numeric", ...form });

const kindFields = {
  status: (kind) =>
    kind === "in-progress"
      ? field("Status", "status", { options: ["409", "423"].map((status) => [status, status]) })
      : field("Status", "status", whole({ min: "400", max: "599", value: kind === "html" ? "502" : "503" })),
  retryAfterSeconds: () =>
    field("Retry-After, in seconds (optional)", "retryAfterSeconds", whole({ min: "0" })),
  delayMs: () => field("Delay in milliseconds", "delayMs", whole({ min: "0", value: "3000" })),
  durationMs: () =>
    field(
      "Duration in milliseconds",
      "durationMs",
      whole({ min: "0", value: "3000", hint: "How long the work goes on after the card is issued." }),
    ),
};

export const faultsPage = {
  title: "Faults",
  concerns: ["fault", "endpoint"],

  async load() {
    const [faults, settings, endpoints] = await Promise.all([
      get("faults"),
      get("settings"),
      get("webhooks/endpoints"),
    ]);
    return { ...settings, faults: faults.items, endpoints: endpoints.items };
  },

  show({ faults, operations, events, endpoints }, { kind = "status" }) {
    return [
      heading(
        "Faults",
        "Failures that the service injects. The first fault that matches a request is injected.",
        faults.length > 0 && button("Remove all", "remove-all", { kind: "danger" }),
      ),
      faults.length === 0
        ? empty("No faults", "Add a fault below to test how your website or receiver handles it.")
        : h("ul", { class: "cards", "data-key": "list" }, faults.map(faultCard)),
      addForm(kind, { operations, events, endpoints }),
    ];
  },

  actions: {
    async "remove-fault"(id) {
      await remove(`faults/${encodeURIComponent(id)}`);
      showToast("The fault was removed.");
    },
    async "remove-all"() {
      if (
        !(await confirmAction(
          "Remove all faults?",
          "Requests and deliveries will work normally.",
          "Remove all",
        ))
      )
        return;
      await remove("faults");
      showToast("All faults were removed.");
    },
  },

  submits: {
    async add(values) {
      const kind = values.get("kind");
      const match = readTexts(values, [
        "operation",
        "method",
        "path",
        "idempotencyKey",
        "event",
        "endpointId",
      ]);
      await post("faults", {
        kind,
        ...(kinds[kind].target === "requests" && { phase: values.get("phase") }),
        ...readNumbers(values, ["times", "status", "retryAfterSeconds", "delayMs", "durationMs"]),
        ...(Object.keys(match).length > 0 && { match }),
      });
      showToast("The fault was added.");
    },
  },
};

/** Shows on every page that faults are active: a forgotten one looks like an error of the app. */
export async function showFaultCount() {
  const { items } = await get("faults").catch(() => ({ items: [] })); // the page shows the error
  const badge = getElement("fault-count");
  const [count, noun] = plural(items.length, "fault").split(" ");
  patch(badge, count, h("span", { class: "wide" }, " active"), ` ${noun}`);
  badge.hidden = items.length === 0;
}

const readTexts = (values, names) =>
  Object.fromEntries(
    names.map((name) => [name, values.get(name)]).filter(([, value]) => value !== null && value !== ""),
  );
const readNumbers = (values, names) =>
  Object.fromEntries(Object.entries(readTexts(values, names)).map(([name, value]) => [name, Number(value)]));

function addForm(kind, { operations, events, endpoints }) {
  const { fields, target, phases = ["before", "after-commit"] } = kinds[kind];
  const methods = [...new Set(Object.values(operations).map(({ method }) => method))].sort();
  const any = (text, values) => [
    ["", text],
    ...values.map((value) => (Array.isArray(value) ? value : [value, value])),
  ];
  return panel(
    "Add a fault",
    form("add", "Add the fault", [
      h(
        "div",
        { class: "grid" },
        field("Fault", "kind", {
          options: Object.entries(kinds).map(([name, { title }]) => [name, title]),
          "data-filter": "kind",
        }),
        target === "requests" &&
          field("Phase", "phase", {
            options: phases.map((phase) => [phase, phaseTitles[phase]]),
            hint: "After the commit, the request has its effect; only the response is affected.",
          }),
        fields.map((name) => kindFields[name](kind)),
        field(
          "Number of times (optional)",
          "times",
          whole({ min: "1", value: "1", hint: "1 is once. When empty: until you remove the fault." }),
        ),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Only for"),
        h(
          "div",
          { class: "grid" },
          target === "requests"
            ? [
                field("Operation", "operation", { options: any("Any operation", Object.keys(operations)) }),
                field("Method", "method", { options: any("Any method", methods) }),
                field("Path (optional)", "path", { placeholder: "/api/v1/passes/*", hint: "* is any text." }),
                field("Idempotency-Key (optional)", "idempotencyKey"),
              ]
            : [
                field("Event", "event", { options: any("Any event", events) }),
                field("Endpoint", "endpointId", {
                  options: any(
                    "Any endpoint",
                    endpoints.map(({ id, url }) => [id, url]),
                  ),
                }),
              ],
        ),
      ),
    ]),
  );
}

const faultCard = ({ id, kind, phase, times, match = {}, status, delayMs, durationMs, retryAfterSeconds }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h(
      "header",
      {},
      h(
        "div",
        {},
        h("h2", {}, kinds[kind]?.title ?? kind),
        h(
          "p",
          { class: "quiet" },
          [
            phase === "before" && "before processing",
            phase === "after-commit" && "after the commit",
            status !== undefined && `status ${status}`,
            delayMs !== undefined && `${delayMs} ms delay`,
            durationMs !== undefined && `${durationMs} ms`,
            retryAfterSeconds !== undefined && `Retry-After ${retryAfterSeconds} s`,
            times === undefined ? "until it is removed" : plural(times, "more time"),
          ]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
      button("Remove", "remove-fault", {
        id,
        kind: "small",
        "aria-label": `Remove the fault: ${kinds[kind]?.title ?? kind}`,
      }),
    ),
    Object.keys(match).length > 0 &&
      h(
        "ul",
        { class: "chips", "aria-label": "Only for" },
        Object.entries(match).map(([name, value]) => h("li", {}, `${name}: ${value}`)),
      ),
  );
