/** Faults: what goes wrong on purpose, so that a website or a receiver can show how it copes. */
import { get, post, remove } from "./api.js";
import { confirmed, showToast } from "./dialogs.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { button, empty, field, form, heading, panel } from "./parts.js";

/** What each kind is called, what it has to be showToast, and whom it hits. */
const kinds = {
  status: { title: "An error status", asks: ["status", "retryAfterSeconds"], hits: "requests" },
  latency: { title: "A late answer", asks: ["delayMs"], hits: "requests" },
  reset: { title: "The connection is reset", asks: [], hits: "requests" },
  destroy: { title: "The connection is closed", asks: [], hits: "requests" },
  truncate: { title: "Half of the body", asks: [], hits: "requests" },
  malformed: { title: "A malformed chunk", asks: [], hits: "requests" },
  hang: { title: "No answer at all", asks: [], hits: "requests" },
  html: { title: "A gateway’s HTML page", asks: ["status"], hits: "requests" },
  duplicate: { title: "An event arrives twice", asks: [], hits: "deliveries" },
  reorder: { title: "An event is overtaken", asks: [], hits: "deliveries" },
  drop: { title: "An attempt is lost", asks: [], hits: "deliveries" },
};

const operations = ["issueCard", "getCard", "listOperations", "getConsent", "setConsent"];
const whole = (form) => ({ type: "number", inputmode: "numeric", ...form });

const questions = {
  status: (kind) =>
    field("Status", "status", whole({ min: "400", max: "599", value: kind === "html" ? "502" : "503" })),
  retryAfterSeconds: () =>
    field("Retry-After, in seconds (optional)", "retryAfterSeconds", whole({ min: "0" })),
  delayMs: () => field("Late by, in milliseconds", "delayMs", whole({ min: "0", value: "3000" })),
};

export const faultsRoom = {
  title: "Faults",
  concerns: ["fault", "endpoint"],

  async load() {
    const [faults, settings, endpoints] = await Promise.all([
      get("faults"),
      get("settings"),
      get("webhooks/endpoints"),
    ]);
    return { faults: faults.items, events: settings.events, endpoints: endpoints.items };
  },

  show({ faults, events, endpoints }, { kind = "status" }) {
    return [
      heading(
        "Faults",
        "What goes wrong on purpose. The first rule that matches a request is applied.",
        faults.length > 0 && button("Remove all", "remove-all", { kind: "danger" }),
      ),
      faults.length === 0
        ? empty("Everything works", "Add a fault below and see how your website or receiver copes.")
        : h("ul", { class: "cards", "data-key": "list" }, faults.map(faultCard)),
      addForm(kind, events, endpoints),
    ];
  },

  actions: {
    async "remove-fault"(id) {
      await remove(`faults/${encodeURIComponent(id)}`);
      showToast("The fault was removed.");
    },
    async "remove-all"() {
      if (!(await confirmed("Remove all faults?", "From now on everything works.", "Remove all"))) return;
      await remove("faults");
      showToast("All faults were removed.");
    },
  },

  submits: {
    async add(values) {
      const kind = values.get("kind");
      const match = givenOf(values, ["operation", "method", "path", "idempotencyKey", "event", "endpointId"]);
      await post("faults", {
        kind,
        ...(kinds[kind].hits === "requests" && { phase: values.get("phase") }),
        ...numbersOf(values, ["times", "status", "retryAfterSeconds", "delayMs"]),
        ...(Object.keys(match).length > 0 && { match }),
      });
      showToast("From now on it goes wrong.");
    },
  },
};

const givenOf = (values, names) =>
  Object.fromEntries(
    names.map((name) => [name, values.get(name)]).filter(([, value]) => value !== null && value !== ""),
  );
const numbersOf = (values, names) =>
  Object.fromEntries(Object.entries(givenOf(values, names)).map(([name, value]) => [name, Number(value)]));

function addForm(kind, events, endpoints) {
  const { asks, hits } = kinds[kind];
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
        field("What goes wrong", "kind", {
          options: Object.entries(kinds).map(([name, { title }]) => [name, title]),
          "data-filter": "kind",
        }),
        hits === "requests" &&
          field("When", "phase", {
            options: [
              ["before", "Before the work: nothing is done"],
              ["after-commit", "After the work: only the answer suffers"],
            ],
          }),
        asks.map((name) => questions[name](kind)),
        field(
          "How often (optional)",
          "times",
          whole({ min: "1", hint: "Until it is removed, when left empty." }),
        ),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Only for"),
        h(
          "div",
          { class: "grid" },
          hits === "requests"
            ? [
                field("Operation", "operation", { options: any("Any operation", operations) }),
                field("Method", "method", { options: any("Any method", ["GET", "POST", "PUT"]) }),
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

const faultCard = ({ id, kind, phase, times, match = {}, status, delayMs, retryAfterSeconds }) =>
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
            phase === "before" && "before the work",
            phase === "after-commit" && "after the work",
            status !== undefined && `status ${status}`,
            delayMs !== undefined && `${delayMs} ms late`,
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
