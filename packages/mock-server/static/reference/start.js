// Starts the interactive reference of this service, and the search in its contents.
import "./code-block.js";
import { parts } from "./parts.js";

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
  return openapi;
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

/** The id of the newest request in the console's traffic, which is the one of this response. */
async function findEntryId({ url }) {
  const traffic = await fetch("../_mock/traffic?kind=request&limit=1").catch(() => undefined);
  const { items = [] } = traffic?.ok ? await traffic.json() : {};
  return items.find(({ path }) => url.endsWith(path))?.id;
}

const openapi = await readDocument();
const reference = /** @type {any} */ (globalThis).SwaggerUIBundle({
  spec: openapi,
  domNode: place,
  plugins: [parts],
  docExpansion: "full",
  defaultModelExpandDepth: 9,
  validatorUrl: null,
  tryItOutEnabled: true,
  async responseInterceptor(response) {
    fillInCard(response);
    return { ...response, entryId: await findEntryId(response) };
  },
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
  if (words !== "") showFirst(words);
  markCurrent();
});

/** Scrolls to the first text with the words and marks it; a response that has it may be folded. */
function showFirst(words) {
  CSS.highlights?.delete("found");
  const isFound = ({ data, parentElement }) =>
    data.toLowerCase().includes(words) &&
    parentElement.closest(".opblock:not([hidden])") &&
    !parentElement.matches("summary small"); // the statuses of folded responses
  const texts = document.createTreeWalker(place.parentElement, NodeFilter.SHOW_TEXT, (text) =>
    isFound(/** @type {any} */ (text)) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP,
  );
  const text = /** @type {Text | null} */ (texts.nextNode());
  if (text === null) return; // they are in several texts
  const start = text.data.toLowerCase().indexOf(words);
  const range = new StaticRange({
    startContainer: text,
    startOffset: start,
    endContainer: text,
    endOffset: start + words.length,
  });
  CSS.highlights?.set("found", new Highlight(range));
  let details = text.parentElement.closest("details");
  for (; details; details = details.parentElement.closest("details")) details.open = true;
  text.parentElement.scrollIntoView({ block: "center" });
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
 * Marks in the contents what is at the top of the screen. The last ones cannot get there: at the end
 * of the page the one that was chosen counts.
 */
function markCurrent() {
  const shown = [...links].filter((link) => getTarget(link)?.checkVisibility());
  const getTop = (link) => getTarget(link).getBoundingClientRect().top;
  const isAtEnd = scrollY + innerHeight > document.documentElement.scrollHeight - 2;
  const chosen = shown.find(({ hash }) => hash === location.hash);
  const isChosen = isAtEnd && chosen && getTop(chosen) > 0;
  const current = isChosen ? chosen : shown.findLast((link) => getTop(link) < 100);
  for (const link of links) link.ariaCurrent = link === current ? "true" : null;
  opener.textContent = current?.hash.slice(1) ?? "Contents";
}
addEventListener("scroll", markCurrent);
addEventListener("hashchange", markCurrent); // it does not scroll to what cannot get higher

/** On a narrow screen the contents cover the page, until one of them is chosen. */
contents.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("a")) contents.hidePopover();
});
