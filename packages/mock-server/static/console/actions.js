/** Calls the functions of the open page for clicks (`data-action`), forms (`data-submit`) and filters (`data-filter`). */
import { addressWith } from "./address.js";
import { RequestError } from "./api.js";
import { moveClock } from "./clock.js";
import { copyBeside, showToast } from "./dialogs.js";
import { findTarget, getElement } from "./dom.js";

/** The actions of every page. */
const commonActions = {
  skip: () => getElement("main").focus(),
  copy: (_id, { element }) => copyBeside(element),
  advance: (duration) => moveClock("advance", { duration }),
  "to-next-delivery": () => moveClock("advance-to-next-delivery"),
};

const typingPauseMs = 150;

/**
 * @param getVisit returns the open page and its state.
 * @param refresh updates the page after an action.
 */
export function handleActions(getVisit, refresh) {
  let filterTimer;

  document.addEventListener("click", (event) => {
    const element = findTarget(event, "[data-action]");
    if (element === null || element.ariaBusy === "true") return;
    if (element.localName === "a") event.preventDefault();
    const { action, id } = element.dataset;
    const { page, state } = getVisit();
    perform(element, () => (page.actions?.[action] ?? commonActions[action])(id, { element, state }));
  });

  document.addEventListener("submit", (event) => {
    const form = findTarget(event, "[data-submit]");
    if (form === null) return;
    event.preventDefault();
    clearErrors(form);
    const submit = form.querySelector("button.primary");
    if (submit.ariaBusy === "true") return;
    const { page, state } = getVisit();
    perform(submit, async () => {
      try {
        await page.submits[form.dataset.submit](new FormData(form), { form, state });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        showErrors(form, error);
      }
    });
  });

  document.addEventListener("input", (event) => {
    const input = findTarget(event, "[data-filter]");
    if (input === null) return;
    const { filter } = input.dataset;
    const { page, state } = getVisit();
    Object.assign(state, { [filter]: input.value, offset: 0 });
    // Replaced, so that a search is one entry of the browser's history and not one per key.
    if (page.filters?.includes(filter)) {
      history.replaceState(null, "", addressWith({ [filter]: input.value, page: "" }));
    }
    clearTimeout(filterTimer);
    filterTimer = setTimeout(refresh, input.type === "search" ? typingPauseMs : 0);
  });

  async function perform(element, act) {
    element.ariaBusy = "true";
    try {
      await act();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showToast(error.message, "error");
    } finally {
      element.ariaBusy = null;
    }
    await refresh();
  }
}

/** Shows each error beside its field, and the others below the form. */
function showErrors(form, { message, errors }) {
  const unplaced = [];
  for (const { pointer, detail } of errors) {
    const name = pointer.slice(1);
    const place = form.querySelector(`[data-error="${CSS.escape(name)}"]`);
    if (name === "" || place === null) unplaced.push(detail);
    else {
      place.textContent = detail;
      form.elements.namedItem(name)?.setAttribute?.("aria-invalid", "true");
    }
  }
  if (errors.length === 0) unplaced.push(message);
  form.querySelector('[data-error=""]').textContent = unplaced.join(" ");
  form.querySelector("[aria-invalid]")?.focus();
}

function clearErrors(form) {
  for (const place of form.querySelectorAll("[data-error]")) place.textContent = "";
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}
