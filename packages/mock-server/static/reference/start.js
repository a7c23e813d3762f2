// Starts the interactive reference of this service, with the seeded API key and template filled in.

const place = /** @type {HTMLElement} */ (document.getElementById("reference"));
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

const openapi = withoutRepetition(await (await fetch("docs/json")).json());
// The host name of the page may differ from the one in the service's base URL.
openapi.servers = [{ url: new URL("v1", location.href).href }];
openapi.components.parameters.TemplateId.example = place.dataset.templateId;
openapi.info.description +=
  " The button Execute sends the request to this mock service, with its Website key.";

/**
 * Leaves out what would make an operation longer than two screens: links, which repeat the list of
 * operations, and the body of each error, which is always problem details.
 * @param {any} openapi
 */
function withoutRepetition(openapi) {
  // Swagger UI has a heading for them.
  openapi.tags = openapi.tags.filter((/** @type {any} */ { name }) => name !== "Webhooks");
  for (const path of Object.values(openapi.paths))
    for (const { responses } of /** @type {any[]} */ (Object.values(path)))
      for (const [status, { $ref, ...response }] of Object.entries(responses)) {
        const { description, content } = $ref ? find(openapi, $ref) : response;
        responses[status] = /^[45]/.test(status) ? { description } : { description, content };
      }
  return openapi;
}

/**
 * @param {any} openapi
 * @param {string} pointer such as `#/components/responses/NotFound`.
 */
function find(openapi, pointer) {
  const names = pointer.split("/").slice(1);
  return names.reduce((part, name) => part[name], openapi);
}

/** Labels for the fields that Swagger UI leaves unlabelled, for screen readers. */
const names = {
  "textarea.body-param__text": "Request body",
  ".examples-select-element": "Example",
  "select:not([aria-label])": "Choice",
  "input[type=text]:not([aria-label]):not([id]):not([placeholder])": "Value",
};

/**
 * Swagger UI skips a level of headings, and leaves some of its content outside of its main element.
 */
function improveOutline() {
  for (const heading of place.querySelectorAll("h3.opblock-tag")) heading.ariaLevel = "2";
  for (const heading of place.querySelectorAll("h4")) heading.ariaLevel = "3";
  for (const heading of place.querySelectorAll("h5")) heading.ariaLevel = "4";
  for (const text of place.querySelectorAll("pre")) text.tabIndex = 0; // it can scroll
  // A link within a button; the button changes the address.
  for (const link of place.querySelectorAll("button a[href]")) link.removeAttribute("href");
  for (const table of place.querySelectorAll("table[role=region]:not([aria-label])")) {
    const name = table.classList.contains("live-responses-table") ? "Server response" : "Responses";
    table.setAttribute("aria-label", `${name} of ${table.closest(".opblock")?.id}`);
  }
  const about = place.querySelector(".information-container");
  about?.setAttribute("role", "region");
  about?.setAttribute("aria-label", "About");
}

function nameFields() {
  for (const [selector, name] of Object.entries(names)) {
    for (const field of place.querySelectorAll(selector)) {
      if (!field.ariaLabel) field.ariaLabel = name;
    }
  }
}
new MutationObserver(() => {
  nameFields();
  improveOutline();
}).observe(place, { childList: true, subtree: true });

const reference = /** @type {any} */ (globalThis).SwaggerUIBundle({
  spec: openapi,
  domNode: place,
  validatorUrl: null,
  tryItOutEnabled: true,
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  onComplete() {
    if (place.dataset.apiKey) reference.preauthorizeApiKey("websiteKey", place.dataset.apiKey);
    if (location.hash === "")
      reference.layoutActions.show(["operations", "Cards", "issueCard"], true);
    document.documentElement.dataset.ready = "";
  },
});
