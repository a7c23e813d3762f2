/** The service's clock: shows its time, which the browser computes between two changes of the clock, and moves it. */
import { get, post, put } from "./api.js";
import { dateTimeText, durationText, fullTimeText, getElement, h, patch, plural, timeText } from "./dom.js";
import { button, facts, field, form, heading, panel, showToast } from "./parts.js";

let known = { nowMs: Date.now(), readMs: performance.now(), factor: 1 };

export async function readClock() {
  const clock = await get("clock");
  const factor = { manual: 0, system: 1 }[clock.mode] ?? clock.factor ?? 1;
  known = { nowMs: Date.parse(clock.now), readMs: performance.now(), factor };
  return clock;
}

export const serviceNowMs = () => known.nowMs + (performance.now() - known.readMs) * known.factor;

/** "in 4 min 12 s", on the service's clock. */
export const untilText = (iso) => {
  const ms = Date.parse(iso) - serviceNowMs();
  return ms <= 0 ? "now" : `in ${durationText(ms)}`;
};

/** A time on the page: without the date on the service's current day, and complete in the title. */
export const timeElement = (iso) =>
  h("time", { datetime: iso, title: fullTimeText(iso) }, timeText(iso, serviceNowMs()));

/** Updates the current time (`data-now`), the time until a moment (`data-until`), and whether times show their date. */
export function tick() {
  const nowMs = serviceNowMs();
  for (const element of document.querySelectorAll("[data-now]")) setText(element, dateTimeText(nowMs));
  for (const element of document.querySelectorAll("[data-until]")) {
    setText(element, untilText(element.getAttribute("data-until")));
  }
  for (const element of document.querySelectorAll("time")) {
    setText(element, timeText(element.dateTime, nowMs));
  }
}

/** Leaves an element alone that has the text already: a selection in it would be lost. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const modes = [
  ["system", "The machine’s time"],
  ["manual", "Stands still until moved"],
  ["scaled", "Runs, and can be moved"],
];

const modeTexts = {
  system: () => "the machine’s time; it cannot be moved",
  manual: () => "stands still until it is moved",
  scaled: (factor) =>
    factor === 1
      ? "runs like the machine’s, and can be moved"
      : `runs ${factor} times as fast as the machine’s`,
};

const isDelivered = ({ status }) => status >= 200 && status < 300;

export async function moveClock(how, body) {
  const { attempts } = await post(`clock/${how}`, body);
  showToast(
    attempts.length === 0
      ? "The clock was moved. No delivery was due."
      : `${plural(attempts.length, "attempt")}: ${attempts.filter(isDelivered).length} delivered.`,
  );
  await showClockBar();
}

/** The clock in the top bar of every page. */
export async function showClockBar() {
  const clock = await readClock().catch(() => undefined);
  if (clock === undefined) return;
  const cannotMove = clock.mode === "system";
  patch(
    getElement("clock"),
    h(
      "a",
      { href: "#/clock", class: "clock-now" },
      h("span", { class: "hidden" }, "Service time "),
      nowText(),
    ),
    h(
      "span",
      { class: "clock-moves" },
      moves.map(([label, duration]) =>
        button(label, "advance", {
          id: duration,
          kind: "small",
          disabled: cannotMove,
          "aria-label": `${label}: move the clock forward`,
        }),
      ),
      button("Next delivery", "to-next-delivery", {
        kind: "small",
        disabled: cannotMove || clock.nextAttemptAt === undefined,
        "aria-label": "Next delivery: move the clock there",
      }),
    ),
  );
  tick();
}

const moves = [
  ["+1 min", "1m"],
  ["+1 h", "1h"],
  ["+6 h", "6h"],
];

const nowText = () => h("span", { class: "now", "data-now": true }, dateTimeText(serviceNowMs()));

export const clockPage = {
  title: "Clock",
  concerns: ["clock", "delivery"],
  load: readClock,

  show({ mode, factor, nextAttemptAt }, state) {
    const chosenMode = state.mode ?? mode;
    const cannotMove = mode === "system";
    return [
      heading("Clock", "The time of the service, which retries, idempotency keys and events use."),
      panel(
        "Now",
        h("p", { class: "big-now" }, nowText()),
        facts(
          ["The clock", (modeTexts[mode] ?? (() => mode))(factor)],
          [
            "Next delivery",
            nextAttemptAt
              ? [
                  h("span", { "data-until": nextAttemptAt }, untilText(nextAttemptAt)),
                  ", ",
                  timeElement(nextAttemptAt),
                ]
              : "no pending delivery",
          ],
        ),
        h(
          "p",
          { class: "actions" },
          [
            ["+1 minute", "1m"],
            ["+1 hour", "1h"],
            ["+6 hours", "6h"],
            ["+1 day", "1d"],
          ].map(([label, duration]) => button(label, "advance", { id: duration, disabled: cannotMove })),
          button("To the next delivery", "to-next-delivery", {
            disabled: cannotMove || nextAttemptAt === undefined,
          }),
          button("Until all is delivered or failed", "run-until-idle", { disabled: cannotMove }),
        ),
        h("p", { class: "quiet" }, "Deliveries that become due are sent in order. Time never goes back."),
      ),
      panel(
        "Mode of the clock",
        form("change", "Set the clock", [
          h(
            "div",
            { class: "grid" },
            field("Mode", "mode", { options: modes, chosen: chosenMode, "data-filter": "mode" }),
            chosenMode === "scaled" &&
              field("Times as fast", "factor", {
                type: "number",
                step: "any",
                value: String(factor ?? 1),
                hint: "With 60, one second of your machine is one minute of the service.",
              }),
          ),
        ]),
      ),
    ];
  },

  actions: {
    "run-until-idle": () => moveClock("run-until-idle"),
  },

  submits: {
    async change(values) {
      const mode = values.get("mode");
      await put("clock", { mode, ...(mode === "scaled" && { factor: Number(values.get("factor")) }) });
      showToast("The clock was set.");
      await showClockBar();
    },
  },
};
