/** The sign-up without its page: saves the member, shows the card if it is there, and never fails because the loyalty service fails. */
// #region sign-up
// shop/sign-up.ts
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import { type Draft, type FormState, readForm, toErrors } from "./form";
import { loyalty } from "./loyalty";

/** @returns the id of the member, or the form with its errors. */
export async function signUp(
  form: FormData,
): Promise<{ memberId: string } | { state: FormState }> {
  const { values, errors, draft } = readForm(form);
  if (Object.keys(errors).length > 0) return { state: { values, errors } };
  const memberId = await saveMember(draft);
  if (memberId === undefined) {
    const email = "There is an account with this address already.";
    return { state: { values, errors: { email } } };
  }
  const { outbox } = loyalty();
  const { state, error } = await outbox.issue(memberId, { deadlineMs: 4_000 });
  return state === "rejected" && error !== undefined
    ? { state: { values, errors: toErrors(error) } }
    : { memberId };
}

/** How long a form that is sent twice is one member: later, it may be another person. */
const repeatMs = 60_000;

/** Saves the member and the card that is owed. @returns undefined for a known address. */
const saveMember = (draft: Draft): Promise<string | undefined> => {
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
    if (other !== undefined) return undefined;
    const id = same?.id ?? crypto.randomUUID();
    const request = toRequest(draft);
    const state = outbox.add(database, { userId: id, template, request });
    // Nobody is signed in with a rejected form: the next form corrects it.
    if (state === "rejected") outbox.correct(database, id, request);
    else if (same !== undefined) return same.isRepeated ? id : undefined;
    const insert =
      "INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)";
    database
      .prepare(insert)
      .run(id, name, email, phone, privacy, news, Date.now(), formId);
    return id;
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
// #endregion
