// Starts the interactive reference: this service's own document, with the seeded key and template filled in.

const place = document.getElementById("reference");
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

const openapi = await (await fetch("docs/json")).json();
// The page may have been opened under another name of this machine than the service knows itself by.
openapi.servers = [{ url: new URL("v1", location.href).href }];
openapi.components.parameters.TemplateId.example = place.dataset.templateId;

/** Swagger UI leaves some fields without a name, which screen readers then call "edit" and "combo box". */
const names = {
  "textarea.body-param__text": "Request body",
  ".examples-select-element": "Example",
  "select:not([aria-label])": "Choice",
  "input[type=text]:not([aria-label]):not([id]):not([placeholder])": "Value",
};

function nameFields() {
  for (const [selector, name] of Object.entries(names)) {
    for (const field of place.querySelectorAll(selector)) {
      if (!field.ariaLabel) field.ariaLabel = name;
    }
  }
}
new MutationObserver(nameFields).observe(place, { childList: true, subtree: true });

const reference = SwaggerUIBundle({
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
