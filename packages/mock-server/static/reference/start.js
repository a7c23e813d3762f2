// Starts the interactive reference of this service, and the search in its contents.
import "./elements.js";
import { getIn, parts } from "./parts.js";

const place = /** @type {HTMLElement} */ (document.getElementById("reference"));
const { apiKey, templateId, cardId } = place.dataset;

/**
 * The document with full paths, and with the address of this page: its host name may differ from
 * the one in the service's base URL.
 */
async function readDocument() {
  const text = await (await fetch("docs/json")).text();
  const { components } = JSON.parse(text);
  const base = new URL("..", location.href).href.slice(0, -1);
  const { origin } = new URL(components.examples.Card.value.publicUrl);
  const openapi = JSON.parse(text.replaceAll(`${origin}/`, `${base}/`));
  const { pathname } = new URL("v1", location.href);
  openapi.servers = [{ url: location.origin }];
  openapi.paths = Object.fromEntries(
    Object.entries(openapi.paths).map(([path, item]) => [pathname + path, item]),
  );
  openapi.tags = openapi.tags.filter(({ name }) => name !== "Webhooks"); // they are in the page
  openapi.components.parameters.TemplateId.example = templateId;
  if (cardId) openapi.components.parameters.CardId.example = cardId;
  fillInCustomer(openapi.components);
  return dereference(openapi);
}

/** The document without references. It has no chains of them, and no cycles. */
function dereference(openapi) {
  const resolve = (_key, value) =>
    value?.$ref ? getIn(openapi, value.$ref.split("/").slice(1)) : value;
  return JSON.parse(JSON.stringify(openapi, resolve));
}

/**
 * Fills a customer who has no card into the form of issueCard: that of the example would get one
 * card more each time this page is loaded.
 */
function fillInCustomer({ examples, parameters }) {
  const number = 100_000 + Math.floor(Math.random() * 900_000);
  const name = `Customer ${number}`;
  const { customer, fieldValues } = examples.IssueCardRequest.value;
  Object.assign(customer, { phone: `+48600${number}`, email: `${number}@example.com`, name });
  fieldValues.name = name;
  parameters.IdempotencyKey.example = `user-${number}`;
}

/** Fills a card that was issued here into the forms of the other operations. */
function fillInCard({ status, body }) {
  if (status !== 201) return;
  const { specSelectors, specActions } = reference;
  const paths = specSelectors.specJsonWithResolvedSubtrees().get("paths");
  for (const [path, item] of paths)
    for (const [method, operation] of item) {
      const parameter = operation.get("parameters").find((each) => each.get("name") === "id");
      if (parameter) specActions.changeParamByIdentity([path, method], parameter, body.id);
    }
}

/** The newest request in the console's traffic, which is the one of this response. */
async function findEntry({ url }) {
  const traffic = await fetch("../_mock/traffic?kind=request&limit=1").catch(() => undefined);
  const { items = [] } = traffic?.ok ? await traffic.json() : {};
  return items.find(({ path }) => url.endsWith(path));
}

async function responseInterceptor(response) {
  fillInCard(response);
  const { id: entryId, durationMs } = (await findEntry(response)) ?? {};
  return { ...response, entryId, durationMs };
}

const openapi = await readDocument();
const reference = /** @type {any} */ (globalThis).SwaggerUIBundle({
  spec: openapi,
  domNode: place,
  plugins: [parts],
  docExpansion: "full",
  validatorUrl: null,
  tryItOutEnabled: true,
  responseInterceptor,
  onComplete() {
    if (apiKey) reference.preauthorizeApiKey("websiteKey", apiKey);
    document.documentElement.dataset.ready = "";
  },
});

const contents = /** @type {HTMLElement} */ (document.getElementById("contents"));
const search = /** @type {HTMLInputElement} */ (document.querySelector("[type=search]"));
const opener = /** @type {HTMLElement} */ (document.querySelector("[popovertarget]"));
const nothing = /** @type {HTMLElement} */ (document.querySelector("nav output"));
const links = contents.querySelectorAll("a");
/** @type {NodeListOf<HTMLAnchorElement>} */
const entries = contents.querySelectorAll("li a");
const getTarget = ({ hash }) => document.getElementById(hash.slice(1));

/** Hides what does not contain the words, in the contents and in the page. */
search.addEventListener("input", () => {
  const words = search.value.trim().toLowerCase();
  let found = 0;
  for (const link of entries) {
    const article = getTarget(link)?.closest(".opblock");
    const isFound = article?.textContent.toLowerCase().includes(words);
    article?.toggleAttribute("hidden", !isFound);
    link.parentElement.hidden = !isFound;
    if (isFound) found += 1;
  }
  nothing.textContent = found > 0 ? "" : "Nothing found.";
  scrollTo({ top: 0 });
  showFound(words);
  markCurrent();
});

/** The ranges of the words in texts that can be marked. A response that has them may be folded. */
function findRanges(words) {
  const texts = document.createTreeWalker(place.parentElement, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (texts.nextNode()) {
    const text = /** @type {Text} */ (texts.currentNode);
    const isShown = text.parentElement.closest(".opblock:not([hidden])");
    // The second are the statuses of folded responses, and what is not shown of a form's text.
    if (!isShown || text.parentElement.matches("summary small, textarea")) continue;
    const lower = text.data.toLowerCase();
    for (let start = lower.indexOf(words); start >= 0; start = lower.indexOf(words, start + 1))
      ranges.push(
        new StaticRange({
          startContainer: text,
          startOffset: start,
          endContainer: text,
          endOffset: start + words.length,
        }),
      );
  }
  return ranges;
}

/** Marks each text with the words, and scrolls to the first one. */
function showFound(words) {
  CSS.highlights?.delete("found");
  const ranges = words === "" ? [] : findRanges(words);
  if (ranges.length === 0) return; // they are in several texts
  CSS.highlights?.set("found", new Highlight(...ranges));
  const { parentElement } = ranges[0].startContainer;
  let details = parentElement.closest("details");
  for (; details; details = details.parentElement.closest("details")) details.open = true;
  parentElement.scrollIntoView({ block: "center" });
}

/** The key of the console. */
addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const isTyped = target instanceof Element && target.closest("input, select, textarea");
  if (key !== "/" || ctrlKey || metaKey || altKey || isTyped) return;
  event.preventDefault();
  if (!search.checkVisibility()) contents.showPopover();
  search.focus();
});

/**
 * Marks in the contents what begins in the upper third of the screen, or above. What was chosen
 * counts while it begins there; the last ones cannot get there.
 */
function markCurrent() {
  const shown = [...links].filter((link) => getTarget(link)?.checkVisibility());
  const getTop = (link) => getTarget(link).getBoundingClientRect().top;
  const isAtEnd = scrollY + innerHeight > document.documentElement.scrollHeight - 2;
  const chosen = shown.find(({ hash }) => hash === location.hash);
  const isRead = (link) => getTop(link) < innerHeight / 3;
  const isChosen = chosen && getTop(chosen) > 0 && (isAtEnd || isRead(chosen));
  const current = isChosen ? chosen : shown.findLast(isRead);
  for (const link of links) link.ariaCurrent = link === current ? "true" : null;
  opener.textContent = current?.hash.slice(1) ?? "Contents";
}
addEventListener("scroll", markCurrent);
addEventListener("hashchange", markCurrent); // it does not scroll to what cannot get higher

/** On a narrow screen the contents cover the page, until one of them is chosen. */
contents.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("a")) contents.hidePopover();
});
