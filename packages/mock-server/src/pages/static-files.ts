/** The files of static/, made by `npm run generate`. Change them there. */
export const staticFiles: ReadonlyMap<string, string> = new Map([
  [
    "assets/card.css",
    `/* The pages that customers see: a card in the hand. */

:root {
  color-scheme: light dark;
  --page: light-dark(#eef0f5, #0e1016);
  --text: light-dark(#1b1e27, #e9ebf2);
  --quiet: light-dark(#565c6b, #a2a8b8);
  --panel: light-dark(#ffffff, #181b24);
  --line: light-dark(#d6dae3, #2f3442);
  --link: light-dark(#3f37c9, #a5b4fc);
}

* {
  box-sizing: border-box;
}

body {
  margin: 0;
  min-height: 100svh;
  display: flex;
  flex-direction: column;
  align-items: center;
  gap: 28px;
  padding: clamp(16px, 6vh, 64px) 16px 24px;
  background: var(--page);
  color: var(--text);
  font:
    16px / 1.5 system-ui,
    -apple-system,
    "Segoe UI",
    Roboto,
    "Helvetica Neue",
    Arial,
    sans-serif;
  -webkit-font-smoothing: antialiased;
  overflow-wrap: anywhere;
}

main {
  width: min(100%, 380px);
  display: grid;
  gap: 22px;
}

a {
  color: var(--link);
}

:focus-visible {
  outline: 3px solid var(--link);
  outline-offset: 3px;
  border-radius: 14px;
}

/* The card */

.card {
  --from: #3b37a6;
  --to: #26225f;
  position: relative;
  overflow: hidden;
  display: grid;
  gap: 22px;
  padding: 24px;
  border-radius: 26px;
  color: #fff;
  background:
    radial-gradient(120% 70% at 100% 0%, rgb(255 255 255 / 0.2), transparent 60%),
    radial-gradient(90% 60% at 0% 100%, rgb(0 0 0 / 0.22), transparent 70%),
    linear-gradient(155deg, var(--from), var(--to));
  box-shadow:
    0 1px 0 rgb(255 255 255 / 0.18) inset,
    0 2px 4px rgb(15 17 30 / 0.16),
    0 22px 48px -12px rgb(15 17 30 / 0.45);
}

.card::before {
  content: "";
  position: absolute;
  inset: -40% -35% auto auto;
  width: 300px;
  height: 300px;
  border-radius: 50%;
  border: 44px solid rgb(255 255 255 / 0.05);
  pointer-events: none;
}

.card > * {
  position: relative;
}

.colour-1 {
  --from: #147067;
  --to: #0b4540;
}
.colour-2 {
  --from: #a03353;
  --to: #5d1c31;
}
.colour-3 {
  --from: #2b5cae;
  --to: #173463;
}
.colour-4 {
  --from: #8a4a24;
  --to: #4d2610;
}
.colour-5 {
  --from: #6a2fae;
  --to: #3b155f;
}

.card header {
  display: flex;
  align-items: start;
  justify-content: space-between;
  gap: 12px;
}

.card h1 {
  margin: 0;
  font-size: 1.2rem;
  line-height: 1.35;
  font-weight: 650;
  letter-spacing: -0.01em;
}

.tier {
  flex: none;
  max-width: 55%;
  padding: 3px 12px;
  border-radius: 14px;
  background: rgb(0 0 0 / 0.28);
  border: 1px solid rgb(255 255 255 / 0.4);
  font-size: 0.82rem;
  font-weight: 600;
}

.balance p {
  margin: 0;
  font-size: 1rem;
}

.balance strong {
  font-size: 3.4rem;
  line-height: 1;
  font-weight: 700;
  letter-spacing: -0.035em;
  font-variant-numeric: tabular-nums;
  margin-right: 4px;
}

.balance .next {
  font-size: 0.9rem;
}

progress {
  display: block;
  width: 100%;
  height: 6px;
  margin: 16px 0 8px;
  border: 0;
  border-radius: 3px;
  overflow: hidden;
  background: rgb(0 0 0 / 0.3);
  appearance: none;
}
progress::-webkit-progress-bar {
  background: rgb(0 0 0 / 0.3);
}
progress::-webkit-progress-value {
  background: #fff;
  border-radius: 3px;
}
progress::-moz-progress-bar {
  background: #fff;
  border-radius: 3px;
}

.holder {
  margin: 0;
  font-size: 1.05rem;
  font-weight: 600;
}

.holder span {
  display: block;
  font-size: 0.8rem;
  font-weight: 400;
}

.code {
  display: grid;
  justify-items: center;
  gap: 2px;
  padding: 12px 12px 14px;
  border-radius: 18px;
  background: #fff;
  color: #3d4250;
}

.code .qr {
  width: min(100%, 232px);
  height: auto;
}

.code p {
  margin: 0;
  font-size: 0.86rem;
}

/* Below the card */

.wallets {
  display: grid;
  justify-items: center;
  gap: 12px;
}

.wallets a {
  border-radius: 14px;
}

.wallets img {
  display: block;
}

.added {
  width: 240px;
  min-height: 56px;
  margin: 0;
  display: grid;
  place-items: center;
  border: 1.5px solid var(--line);
  border-radius: 14px;
  background: var(--panel);
  font-weight: 600;
}

main > .added {
  justify-self: center;
}

.hint {
  margin: 0;
  padding: 16px 18px;
  border: 1px solid var(--line);
  border-radius: 16px;
  background: var(--panel);
}

.back {
  margin: 0;
  text-align: center;
}

footer {
  margin-top: auto;
  color: var(--quiet);
  font-size: 0.82rem;
  text-align: center;
}

/* No card, or no files to show */

.lost {
  text-align: center;
  margin-block: auto;
  gap: 12px;
}

.lost h1 {
  margin: 0;
  font-size: 1.5rem;
  letter-spacing: -0.02em;
}

.lost p {
  margin: 0;
  color: var(--quiet);
}

.lost .lost-card {
  justify-self: center;
  width: 180px;
  aspect-ratio: 1.586;
  margin-bottom: 16px;
  display: grid;
  place-items: center;
  border: 2px dashed var(--line);
  border-radius: 16px;
  font-size: 2.2rem;
  font-weight: 700;
  letter-spacing: -0.03em;
  transform: rotate(-4deg);
}

pre {
  margin: 0;
  padding: 14px 18px;
  overflow-x: auto;
  border: 1px solid var(--line);
  border-radius: 14px;
  background: var(--panel);
}

code {
  font:
    0.9em ui-monospace,
    SFMono-Regular,
    Menlo,
    Consolas,
    monospace;
}
`,
  ],
  [
    "assets/icon.svg",
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Loyalty cards</title><rect width="32" height="32" rx="8" fill="#4f46e5"/><rect x="5" y="8.5" width="22" height="15" rx="3" fill="#fff"/><path fill="#4f46e5" d="M5 12h22v3H5zM8 18.5h8V20H8z"/></svg>
`,
  ],
  [
    "reference/reference.css",
    `/* What the reference needs around Swagger UI's own style. */

:root {
  color-scheme: light dark;
}

body {
  margin: 0;
  background: light-dark(#fafbfc, #1c2022);
}

.swagger-ui .wrapper {
  max-width: 1100px;
}
`,
  ],
  [
    "reference/start.js",
    `// Starts the interactive reference: this service's own document, with the seeded key filled in.

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
`,
  ],
]);
