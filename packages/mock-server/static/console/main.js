/** Opens the room that the address names, keeps it up to date, and hands clicks and forms to it. */
import { get, Refusal, worldId } from "./api.js";
import { cardRoom } from "./card.js";
import { cardsRoom } from "./cards.js";
import { clockRoom, moveClock, showClockBar } from "./clock.js";
import { deliveriesRoom } from "./deliveries.js";
import { copyBeside, told } from "./dialogs.js";
import { h, patch } from "./dom.js";
import { faultsRoom } from "./faults.js";
import { keysRoom } from "./keys.js";
import { listen } from "./live.js";
import { heading } from "./parts.js";
import { tick } from "./service-clock.js";
import { startRoom } from "./start.js";
import { templatesRoom } from "./templates.js";
import { webhooksRoom } from "./webhooks.js";

const rooms = {
  "": startRoom,
  cards: cardsRoom,
  card: cardRoom,
  templates: templatesRoom,
  webhooks: webhooksRoom,
  deliveries: deliveriesRoom,
  clock: clockRoom,
  faults: faultsRoom,
  keys: keysRoom,
};

const main = document.getElementById("main");
const strip = document.getElementById("rooms");
/** What a person is looking at: the room, what its address says, and what was chosen in it. */
let visit;

async function enter() {
  const [name = "", id = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const room = rooms[name] ?? startRoom;
  visit = { room, state: { id, offset: 0 }, isFresh: true };
  markPlace(room === cardRoom ? "#/cards" : `#/${name}`);
  await refresh();
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
  do {
    mustReadAgain = false;
    const current = visit;
    const content = await contentOf(current);
    if (current !== visit) mustReadAgain = true;
    else show(current, content);
  } while (mustReadAgain);
  isReading = false;
}

async function contentOf({ room, state }) {
  try {
    return room.show(await room.load(state), state);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
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

/* Clicks, forms and filters name what they want; the room knows how to do it. */

const everywhere = {
  skip: () => main.focus(),
  copy: (_id, { element }) => copyBeside(element),
  advance: (duration) => moveClock("advance", { duration }),
  "to-next-delivery": () => moveClock("advance-to-next-delivery"),
  page: (offset, { state }) => {
    state.offset = Number(offset);
    scrollTo(0, 0);
  },
};

document.addEventListener("click", (event) => {
  const element = event.target.closest("[data-action]");
  if (element === null || element.ariaBusy === "true") return;
  if (element.localName === "a") event.preventDefault();
  const { action, id } = element.dataset;
  perform(element, () =>
    (visit.room.actions?.[action] ?? everywhere[action])(id, { element, state: visit.state }),
  );
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-submit]");
  if (form === null) return;
  event.preventDefault();
  forgive(form);
  const submit = form.querySelector("button.primary");
  if (submit.ariaBusy === "true") return;
  perform(submit, async () => {
    try {
      await visit.room.submits[form.dataset.submit](new FormData(form), { form, state: visit.state });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      blame(form, error);
    }
  });
});

let filterTimer;
const typingPauseMs = 150;

document.addEventListener("input", (event) => {
  const input = event.target.closest("[data-filter]");
  if (input === null) return;
  visit.state[input.dataset.filter] = input.value;
  visit.state.offset = 0;
  clearTimeout(filterTimer);
  filterTimer = setTimeout(refresh, input.type === "search" ? typingPauseMs : 0);
});

async function perform(element, act) {
  element.ariaBusy = "true";
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    told(error.message, "refused");
  } finally {
    element.ariaBusy = null;
  }
  await refresh();
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

/* The frame around the rooms */

async function showWorlds() {
  const { items } = await get("worlds");
  if (items.length < 2) return;
  const options = items.map(({ id }) =>
    h("option", { value: id, selected: id === (worldId ?? "default") }, id),
  );
  patch(
    document.getElementById("world"),
    h("label", {}, h("span", {}, "World"), h("select", { "data-world": true }, options)),
  );
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-world]"))
    location.search = `?world=${encodeURIComponent(event.target.value)}`;
});

function showConnection(isThere) {
  const place = document.getElementById("connection");
  place.textContent = isThere ? "Live" : "Reconnecting…";
  place.classList.toggle("lost", !isThere);
}

function changed(type) {
  if (type === undefined || type === "clock" || type === "delivery") void showClockBar();
  if (type === undefined || visit.room.concerns.includes(type)) void refresh();
}

addEventListener("hashchange", () => {
  void enter();
  main.focus({ preventScroll: true });
});
setInterval(tick, 1000);
void enter();
void showClockBar();
void showWorlds();
listen(changed, showConnection);
