// Starts the interactive reference of this service, with the seeded API key and template filled in.

const place = /** @type {HTMLElement} */ (document.getElementById("reference"));
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

const openapi = await (await fetch("docs/json")).json();
// The host name of the page may differ from the one in the service's base URL.
openapi.servers = [{ url: new URL("v1", location.href).href }];
openapi.components.parameters.TemplateId.example = place.dataset.templateId;

/** Labels for the fields that Swagger UI leaves unlabelled, for screen readers. */
const names = {
  "textarea.body-param__text": "Request body",
  ".examples-select-element": "Example",
  "select:not([aria-label])": "Choice",
  "input[type=text]:not([aria-label]):not([id]):not([placeholder])": "Value",
};

/** Swagger UI skips a level of headings, and leaves some of its content outside of its main element. */
function improveOutline() {
  for (const heading of place.querySelectorAll("h3.opblock-tag")) heading.ariaLevel = "2";
  for (const heading of place.querySelectorAll("h4")) heading.ariaLevel = "3";
  for (const table of place.querySelectorAll("table[role=region]:not([aria-label])")) {
    const name = table.classList.contains("live-responses-table") ? "Server response" : "Responses";
    table.setAttribute("aria-label", `${name} of ${table.closest(".opblock")?.id}`);
  }
  for (const [selector, name] of [
    [".information-container", "About"],
    [".scheme-container", "Authorization"],
  ]) {
    const part = place.querySelector(selector);
    part?.setAttribute("role", "region");
    part?.setAttribute("aria-label", name);
  }
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
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  onComplete() {
    reference.preauthorizeApiKey("websiteKey", place.dataset.apiKey);
    document.documentElement.dataset.ready = "";
  },
});
