/** Clicks, forms and filters name what they want; the room that is open knows how to do it. */
import { Refusal } from "./api.js";
import { moveClock } from "./clock.js";
import { copyBeside, showToast } from "./dialogs.js";

/** What every room can do. */
const everywhere = {
  skip: () => document.getElementById("main").focus(),
  copy: (_id, { element }) => copyBeside(element),
  advance: (duration) => moveClock("advance", { duration }),
  "to-next-delivery": () => moveClock("advance-to-next-delivery"),
  page: (offset, { state }) => {
    state.offset = Number(offset);
    scrollTo(0, 0);
  },
};

const typingPauseMs = 150;

/**
 * @param visited tells the room that is open, and what was chosen in it.
 * @param refresh shows what came of it.
 */
export function obey(visited, refresh) {
  let filterTimer;

  document.addEventListener("click", (event) => {
    const element = event.target.closest("[data-action]");
    if (element === null || element.ariaBusy === "true") return;
    if (element.localName === "a") event.preventDefault();
    const { action, id } = element.dataset;
    const { room, state } = visited();
    perform(element, () => (room.actions?.[action] ?? everywhere[action])(id, { element, state }));
  });

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-submit]");
    if (form === null) return;
    event.preventDefault();
    forgive(form);
    const submit = form.querySelector("button.primary");
    if (submit.ariaBusy === "true") return;
    const { room, state } = visited();
    perform(submit, async () => {
      try {
        await room.submits[form.dataset.submit](new FormData(form), { form, state });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        blame(form, error);
      }
    });
  });

  document.addEventListener("input", (event) => {
    const input = event.target.closest("[data-filter]");
    if (input === null) return;
    Object.assign(visited().state, { [input.dataset.filter]: input.value, offset: 0 });
    clearTimeout(filterTimer);
    filterTimer = setTimeout(refresh, input.type === "search" ? typingPauseMs : 0);
  });

  async function perform(element, act) {
    element.ariaBusy = "true";
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      showToast(error.message, "refused");
    } finally {
      element.ariaBusy = null;
    }
    await refresh();
  }
}

/** Puts each sentence beside the field it is about, and what remains below the form. */
function blame(form, { message, errors }) {
  const unplaced = [];
  for (const { pointer, detail } of errors) {
    const name = pointer.slice(1);
    const place = form.querySelector(`[data-fault="${CSS.escape(name)}"]`);
    if (name === "" || place === null) unplaced.push(detail);
    else {
      place.textContent = detail;
      form.elements.namedItem(name)?.setAttribute?.("aria-invalid", "true");
    }
  }
  if (errors.length === 0) unplaced.push(message);
  form.querySelector('[data-fault=""]').textContent = unplaced.join(" ");
  form.querySelector("[aria-invalid]")?.focus();
}

function forgive(form) {
  for (const place of form.querySelectorAll("[data-fault]")) place.textContent = "";
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}
