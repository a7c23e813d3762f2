/**
 * The sign-up without its page: validates the form, saves the member, issues the card if the
 * loyalty service works, and never fails because it fails.
 */
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";
import { loyalty } from "./loyalty";

/**
 * The versions of the consent texts. A new text has a new version. A form with an old privacy text
 * is shown again; an opt-in to an old news text does not count.
 */
export const consentVersions = { privacy: "2026-01", news: "2026-01-news" };

const fields = ["name", "phone", "email", "privacy"] as const;
type Field = (typeof fields)[number];

/** The state of a rejected form: the input and the errors. */
export interface FormState {
  values: Partial<Record<Field | "news" | "formId", string>>;
  errors: Partial<Record<Field | "form", string>>;
}

/** Whom a form made a member. */
export interface Joined {
  memberId: string;
  formId: string;
}

/** @returns the member, or the form with its errors. */
export async function signUp(
  form: FormData,
): Promise<Joined | { state: FormState }> {
  const { values, errors, draft } = readForm(form);
  if (Object.keys(errors).length > 0) return { state: { values, errors } };
  const saved = await saveMember(draft);
  if ("errors" in saved) return { state: { values, errors: saved.errors } };
  const { outbox } = loyalty();
  const { state, error } = await outbox.issue(saved.memberId, {
    deadlineMs: 4_000,
  });
  return state === "rejected" && error !== undefined
    ? { state: { values, errors: toErrors(error) } }
    : saved;
}

/** How long a form that is sent twice is one member: later, it may be another person. */
const repeatMs = 60_000;

const known = {
  errors: { email: "There is an account with this address already." },
};
/** A request with the earlier form may run: the outbox continues to send that form. */
const mayRun = {
  errors: {
    form: "Your earlier form may still be processed. Please send this one again in ten minutes.",
  },
};

/** Saves the member and the card that is owed. */
const saveMember = (draft: Draft): Promise<Joined | Pick<FormState, "errors">> => {
  const { outbox, template } = loyalty();
  return outbox.write((database) => {
    const { name, email, phone, privacy, news, formId } = draft;
    const select = `SELECT id, form_id = ? AND email IS ? AND joined_at > ?
      AS isRepeated FROM members WHERE form_id = ? OR email = ?`;
    const [same, other] = database
      .prepare(select)
      .all(formId, email, Date.now() - repeatMs, formId, email) as [
      { id: string; isRepeated: number }?,
      unknown?,
    ];
    if (other !== undefined) return known;
    const id = same?.id ?? crypto.randomUUID();
    const request = toRequest(draft);
    const state = outbox.add(database, { userId: id, template, request });
    // The next form corrects a rejected one, and may be of somebody else. There are
    // sessions when that one was rejected after its response.
    if (state === "rejected") {
      if (outbox.correct(database, id, request) === "waiting") return mayRun;
      database.prepare("DELETE FROM sessions WHERE member_id = ?").run(id);
    } else if (same !== undefined)
      return same.isRepeated ? { memberId: id, formId } : known;
    const insert =
      "INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)";
    database
      .prepare(insert)
      .run(id, name, email, phone, privacy, news, Date.now(), formId);
    return { memberId: id, formId };
  });
};

function toRequest({ name, email, phone, privacy, news }: Draft): IssueCardRequest {
  const consents = {
    privacy: { version: privacy },
    ...(news !== null && { marketing: { version: news } }),
  };
  // Blank values are left out.
  return { fieldValues: { name }, customer: { name, email, phone, consents } };
}

type Draft = ReturnType<typeof readForm>["draft"];

function readForm(form: FormData) {
  const read = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim().slice(0, 200) : "";
  };
  const values = {
    name: read("name"),
    phone: read("phone"),
    email: read("email"),
    privacy: read("privacy"),
    news: read("news"),
    formId: read("formId"),
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

/** The message beside its field; if the service names none, the error is of the whole form. */
function toErrors({
  fields: rejected,
  userMessage,
}: NonNullable<OutboxEntry["error"]>): FormState["errors"] {
  const isRejected = (field: Field) =>
    rejected.some(({ pointer }) => pointer.endsWith(`/${field}`));
  return { [fields.find(isRejected) ?? "form"]: userMessage };
}
