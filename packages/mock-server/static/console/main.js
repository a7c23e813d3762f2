/** Opens the page that the address names, and updates it when the service reports changes. */
import { handleActions } from "./actions.js";
import { readAddress } from "./address.js";
import { RequestError } from "./api.js";
import { cardPage } from "./card.js";
import { cardsPage } from "./cards.js";
import { clockPage, showClockBar } from "./clock.js";
import { deliveriesPage } from "./deliveries.js";
import { deliveryPage } from "./delivery.js";
import { getElement, h, patch } from "./dom.js";
import { faultsPage, showFaultCount } from "./faults.js";
import { keysPage } from "./keys.js";
import { listen } from "./live.js";
import { heading } from "./parts.js";
import { requestsPage } from "./requests.js";
import { tick } from "./service-clock.js";
import { startPage } from "./start.js";
import { templatesPage } from "./templates.js";
import { showWarningCount, warningsPage } from "./warnings.js";
import { webhooksPage } from "./webhooks.js";

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
