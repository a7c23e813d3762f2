// Starts the interactive reference: this service's own document, with the seeded key filled in.

const place = document.getElementById("reference");
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

const openapi = await (await fetch("docs/json")).json();
// The page may have been opened under another name of this machine than the service knows itself by.
openapi.servers = [{ url: new URL("v1", location.href).href }];

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
