/** Parses and validates the sign-up form. */
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";

/** The versions of the consent texts. A new text has a new version; a form with an old one is shown again. */
export const consentVersions = { privacy: "2026-01", news: "2026-01-news" };

const fields = ["name", "phone", "email", "privacy"] as const;
type Field = (typeof fields)[number];

/** The state of a rejected form: the input and the errors. */
export interface FormState {
  values: Partial<Record<Field | "news" | "formId", string>>;
  errors: Partial<Record<Field | "form", string>>;
}

export type Draft = ReturnType<typeof readForm>["draft"];

export function readForm(form: FormData) {
  const read = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim().slice(0, 200) : "";
  };
  const values = {
    ...{ name: read("name"), phone: read("phone"), email: read("email") },
    ...{ privacy: read("privacy"), news: read("news"), formId: read("formId") },
  };
  const { email, news } = values;
  const errors: FormState["errors"] = {};
  if (values.name === "") errors.name = "Please enter your name.";
  if (email !== "" && !/^[^\s@]+@[^\s@]+$/.test(email))
    errors.email = "This is not an email address.";
  if (values.privacy !== consentVersions.privacy)
    errors.privacy = "Please read and accept the privacy notice.";
  if (!/^[\da-f-]{36}$/.test(values.formId))
    errors.form = "Please load this page again.";
  const draft = {
    ...values,
    email: email === "" ? null : email, // several members may have none
    news: news === consentVersions.news ? news : null,
  };
  return { values, errors, draft };
}

/** The message beside its field. The service may name none; then the error belongs to the whole form. */
export function toErrors({
  fields: rejected,
  userMessage,
}: NonNullable<OutboxEntry["error"]>): FormState["errors"] {
  const isRejected = (field: Field) =>
    rejected.some(({ pointer }) => pointer.endsWith(`/${field}`));
  return { [fields.find(isRejected) ?? "form"]: userMessage };
}
