/** Confirmations, secrets that are shown once, short messages, and the clipboard. */
import { getElement, h } from "./dom.js";
import { copyable } from "./parts.js";

/** @returns whether the user confirmed. */
export const confirmAction = (question, consequence, label) =>
  openDialog(
    h("h2", {}, question),
    h("p", {}, consequence),
    h(
      "form",
      { method: "dialog", class: "actions" },
      h("button", { value: "no", autofocus: true }, "Keep as it is"),
      h("button", { value: "yes", class: "danger" }, label),
    ),
  ).then((value) => value === "yes");

/** Shows a secret, which is on the page only while the dialog is open. */
export const showSecret = (title, text, explanation) =>
  openDialog(
    h("h2", {}, title),
    h("p", {}, explanation),
    h("p", { class: "secret" }, copyable(text, "it")),
    h("form", { method: "dialog", class: "actions" }, h("button", { class: "primary" }, "I have copied it")),
  );

function openDialog(...content) {
  const dialog = h("dialog", {}, content);
  const title = /** @type {HTMLElement} */ (dialog.querySelector("h2"));
  title.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", title.id);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

const toastMs = 5000;

/** @returns a function that replaces the text, for a result that comes later. */
export function showToast(text, kind = "done") {
  const toast = h("p", {});
  let timer;
  const show = (words, nextKind) => {
    toast.className = `toast ${nextKind}`;
    toast.textContent = words;
    getElement("toasts").append(toast);
    clearTimeout(timer);
    timer = setTimeout(() => toast.remove(), nextKind === "error" ? 2 * toastMs : toastMs);
  };
  show(text, kind);
  return show;
}

/** Copies the text beside the button. */
export async function copyBeside(pressed) {
  const source = pressed.previousElementSibling;
  if (await copied(source.textContent)) return;
  getSelection()?.selectAllChildren(source);
  showToast("Selected: press Ctrl+C or ⌘C to copy it.");
}

/** Copies a text that is not on the page; shows it when the browser does not allow copying. */
export async function copyText(text, title) {
  if (await copied(text)) return;
  await showSecret(title, text, "The browser does not allow this page to copy. Select the text and copy it.");
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return false;
  }
  showToast("Copied.");
  return true;
}
