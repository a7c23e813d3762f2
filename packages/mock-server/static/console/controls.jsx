/** What views consist of: buttons, forms, copying, texts, and the parts of lists. */
import { formatNumber } from "@loyalty-cards/internal/format";
import { useState } from "preact/hooks";
import { useAction, useAddress } from "./polling.jsx";

const showModal = (dialog) => dialog?.showModal();

/**
 * Performs `run` when it is pressed, or when the `question` that it asks was confirmed, because it
 * cannot be undone. The first button of a question has the focus.
 */
export function Button({ run, question = "", disabled = false, children, ...attributes }) {
  const { isLost, isBusy, act } = useAction();
  const [isAsked, setAsked] = useState(false);
  const press = () => (question === "" ? act(run) : setAsked(true));
  const close = ({ currentTarget: { returnValue } }) => {
    setAsked(false);
    if (returnValue === "yes") void act(run);
  };
  const state = { disabled: isLost || disabled, "aria-busy": isBusy };
  const danger = question === "" ? undefined : "danger";
  return (
    <>
      <button type="button" class={danger} onClick={press} {...state} {...attributes}>
        {children}
      </button>
      {isAsked && (
        <dialog ref={showModal} aria-label={question} onClose={close}>
          <p>{question}</p>
          <form method="dialog" class="actions">
            <button type="submit">Cancel</button>
            <button type="submit" class="danger" value="yes">
              {children}
            </button>
          </form>
        </dialog>
      )}
    </>
  );
}

/**
 * Performs `run` with the values of its fields, and then empties them. Invalid values are explained
 * below.
 * @param cancel closes the form; without it there is no such button.
 */
export function Form({ run, label, isPrimary = false, cancel = undefined, children }) {
  const { isLost, act } = useAction();
  const [error, setError] = useState("");
  function submit(event) {
    event.preventDefault();
    const form = event.currentTarget;
    setError("");
    void act(async (say) => {
      try {
        await run(new FormData(form), say);
        for (const input of form.querySelectorAll("input:not([type=checkbox])"))
          input.value = input.defaultValue;
      } catch (problem) {
        if (problem.status !== 422) throw problem;
        setError(problem.message);
        form.querySelector("input").focus();
      }
    });
  }
  return (
    <form class="actions" onSubmit={submit}>
      {children}
      <button type="submit" class={isPrimary ? "primary" : undefined} disabled={isLost}>
        {label}
      </button>
      {cancel && (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      )}
      {error !== "" && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}

/** Copies a text, which stands beside the button or is shown when the browser does not allow it. */
export function Copy({ text, label = "Copy", name = undefined }) {
  const copy = async (say) => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      say("The browser does not let this page copy. Select the text:", {
        isError: true,
        pre: text,
      });
    }
  };
  return (
    <Button run={copy} aria-label={name && `${label} ${name}`}>
      {label}
    </Button>
  );
}

/** Shown in the place of the key after the last one was revoked. */
export function NoWebsiteKey() {
  const isSetup = useAddress().view === "setup";
  const way = isSetup ? "create one with “New website key”" : <a href="#/setup">create one</a>;
  return <p>No website key: {way}</p>;
}

/**
 * What the columns of a list contain. A screen reader has the rows.
 * @param names by the class of their column.
 */
export const Head = ({ names }) => (
  <li class="head" aria-hidden="true">
    {Object.entries(names).map(([column, name]) => (
      <span class={column}>{name}</span>
    ))}
  </li>
);

/** Text as it is, with all its lines. */
export const Pre = ({ children, label }) => (
  <section class="pre" aria-label={label}>
    <pre>{children}</pre>
  </section>
);

/** How many entries a list has at first, and how many more it gets at a time. */
export const pageSize = 100;

export const More = ({ shown, total, limit, setLimit }) =>
  total > shown && (
    <p class="actions note">
      {formatNumber(shown)} of {formatNumber(total)}
      <button type="button" onClick={() => setLimit(limit + pageSize)}>
        Show {pageSize} more
      </button>
    </p>
  );
