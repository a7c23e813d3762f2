/** Opens the room that the address names, and keeps it up to date. */
import { Refusal } from "./api.js";
import { cardRoom } from "./card.js";
import { cardsRoom } from "./cards.js";
import { clockRoom, showClockBar } from "./clock.js";
import { deliveriesRoom } from "./deliveries.js";
import { deliveryPage } from "./delivery.js";
import { h, patch } from "./dom.js";
import { faultsRoom } from "./faults.js";
import { obey } from "./hands.js";
import { keysRoom } from "./keys.js";
import { listen } from "./live.js";
import { heading } from "./parts.js";
import { tick } from "./service-clock.js";
import { startRoom } from "./start.js";
import { templatesRoom } from "./templates.js";
import { showWarningCount, warningsPage } from "./warnings.js";
import { webhooksRoom } from "./webhooks.js";
import { showWorlds } from "./worlds.js";

const rooms = {
  "": startRoom,
  cards: cardsRoom,
  card: cardRoom,
  templates: templatesRoom,
  webhooks: webhooksRoom,
  deliveries: deliveriesRoom,
  delivery: deliveryPage,
  warnings: warningsPage,
  clock: clockRoom,
  faults: faultsRoom,
  keys: keysRoom,
};

/** The entry of the navigation that is marked on the page of one item. */
const parents = { card: "cards", delivery: "deliveries" };

const main = document.getElementById("main");
const strip = document.getElementById("rooms");
/** What a person is looking at: the room, what its address says, and what was chosen in it. */
let visit;

async function enter() {
  const [name = "", id = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const room = Object.hasOwn(rooms, name) ? rooms[name] : startRoom;
  visit = { room, state: { id, offset: 0 }, isFresh: true };
  markPlace(`#/${parents[name] ?? name}`);
  await refresh();
}

/** What somebody mistyped into the address names nothing. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function markPlace(address) {
  for (const link of strip.querySelectorAll("a")) {
    if (link.getAttribute("href") !== address) {
      link.removeAttribute("aria-current");
      continue;
    }
    link.setAttribute("aria-current", "page");
    // On a phone the links are a strip; scrollIntoView would move the page too.
    strip.scrollLeft = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
  }
}

let isReading = false;
let mustReadAgain = false;

/** Reads what the room shows and shows it; asked again meanwhile, it reads once more. */
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
      const content = await contentOf(current);
      if (current !== visit) mustReadAgain = true;
      else if (content !== undefined) show(current, content);
    } while (mustReadAgain);
  } finally {
    isReading = false;
  }
}

/** Undefined when there is no answer and something is shown already: a form may be half filled in. */
async function contentOf({ room, state, isFresh }) {
  try {
    return room.show(await room.load(state), state);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === undefined && !isFresh) return undefined;
    const back = h("a", { class: "button", href: "#/" }, "Back to the start");
    return [heading(room.title, error.message, back)];
  }
}

function show(current, content) {
  if (current.isFresh) {
    current.isFresh = false;
    document.title = `${current.room.title} – Loyalty cards console`;
    main.replaceChildren();
    scrollTo(0, 0);
  }
  patch(main, content);
  tick();
}

function showConnection(isThere) {
  const place = document.getElementById("connection");
  place.textContent = isThere ? "Live" : "Reconnecting…";
  place.classList.toggle("lost", !isThere);
}

/** A test run changes hundreds of things a second; the page looks a few times a second. */
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
  if (concerns(["warning"])) void showWarningCount();
  if (concerns(visit.room.concerns)) void refresh();
}

addEventListener("hashchange", () => {
  void enter();
  main.focus({ preventScroll: true });
});
setInterval(tick, 1000);
void enter();
void showClockBar();
void showWorlds();
void showWarningCount();
listen(changed, showConnection);
obey(() => visit, refresh);
