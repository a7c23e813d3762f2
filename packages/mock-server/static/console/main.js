/** Opens the page that the address names, updates it when the service reports changes, and calls its functions for clicks, forms and filters. */
import { addressWith, listen, RequestError, readAddress } from "./api.js";
import { cardPage } from "./card.js";
import { cardsPage } from "./cards.js";
import { clockPage, moveClock, showClockBar, tick } from "./clock.js";
import { deliveriesPage, deliveryPage } from "./deliveries.js";
import { findTarget, getElement, h, patch } from "./dom.js";
import { faultsPage, showFaultCount } from "./faults.js";
import { copyBeside, heading, showToast } from "./parts.js";
import { requestsPage, showWarningCount, warningsPage } from "./requests.js";
import { startPage } from "./start.js";
import { templatesPage } from "./templates.js";
import { keysPage, webhooksPage } from "./webhooks.js";

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
function handleActions(getVisit, refresh) {
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

const pages = {
  "": startPage,
  cards: cardsPage,
  card: cardPage,
  templates: templatesPage,
  webhooks: webhooksPage,
  deliveries: deliveriesPage,
  delivery: deliveryPage,
  requests: requestsPage,
  warnings: warningsPage,
  clock: clockPage,
  faults: faultsPage,
  keys: keysPage,
};

/** The navigation entry to highlight on a page that has no entry of its own. */
const parents = { card: "cards", delivery: "deliveries" };

const main = getElement("main");
const navigation = getElement("pages");
/** The open page with its state: the id in the address, filters and open forms. */
let visit;

async function openPage() {
  const { name, id, filters, offset } = readAddress();
  const page = Object.hasOwn(pages, name) ? pages[name] : startPage;
  visit = { page, state: { ...readFilters(page, filters), id, offset }, isFresh: true };
  markPlace(`#/${parents[name] ?? name}`);
  await refresh();
}

/** Takes only the parameters that are filters of the page. */
const readFilters = ({ filters = [] }, parameters) =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => filters.includes(name)));

function markPlace(address) {
  for (const link of navigation.querySelectorAll("a")) {
    if (link.getAttribute("href") === address) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollToCurrentLink();
}

/** On a phone the links are one row that scrolls; scrollIntoView would move the page too. */
function scrollToCurrentLink() {
  const link = navigation.querySelector("[aria-current]");
  if (link instanceof HTMLElement)
    navigation.scrollLeft = link.offsetLeft - (navigation.clientWidth - link.offsetWidth) / 2;
}

let isReading = false;
let mustReadAgain = false;

/** Loads the data of the page and shows it. A call during a load makes it load once more. */
async function refresh() {
  if (isReading) {
    mustReadAgain = true;
    return;
  }
  isReading = true;
  try {
    do {
      mustReadAgain = false;
      const current = visit;
      const loaded = await loadContent(current);
      if (current !== visit) mustReadAgain = true;
      else if (loaded !== undefined) show(current, loaded);
    } while (mustReadAgain);
  } finally {
    isReading = false;
  }
}

/** Returns undefined when the service does not respond and the page has content, so that a half-filled form is not replaced. */
async function loadContent({ page, state, isFresh }) {
  try {
    const data = await page.load(state);
    return { title: page.getTitle?.(data) ?? page.title, content: page.show(data, state) };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status === undefined && !isFresh) return undefined;
    const back = h("a", { class: "button", href: "#/" }, "Back to the start");
    return { title: page.title, content: [heading(page.title, error.message, back)] };
  }
}

function show(current, { title, content }) {
  document.title = `${title} – Loyalty cards console`;
  if (current.isFresh) {
    current.isFresh = false;
    main.replaceChildren();
    scrollTo(0, 0);
  }
  patch(main, content);
  tick();
}

function showConnection(isThere) {
  const place = getElement("connection");
  place.textContent = isThere ? "Live" : "Reconnecting…";
  place.classList.toggle("lost", !isThere);
}

/** A test run makes hundreds of changes a second; the page is updated a few times a second. */
const lookEveryMs = 120;
const unseen = new Set();

function changed(type) {
  if (unseen.size === 0) setTimeout(look, lookEveryMs);
  unseen.add(type);
}

function look() {
  const types = [...unseen];
  unseen.clear();
  const concerns = (wanted) => types.some((type) => type === undefined || wanted.includes(type));
  if (concerns(["clock", "delivery"])) void showClockBar();
  if (concerns(["fault"])) void showFaultCount();
  if (concerns(["warning"])) void showWarningCount();
  if (concerns(visit.page.concerns)) void refresh();
}

addEventListener("hashchange", () => {
  void openPage();
  main.focus({ preventScroll: true });
});
setInterval(tick, 1000);
void openPage();
void showClockBar();
void showWarningCount().then(scrollToCurrentLink); // the number makes its link wider
void showFaultCount();
listen(changed, showConnection);
handleActions(() => visit, refresh);
