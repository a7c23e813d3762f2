/** The sign-up without its web page: saves the member, shows the card if it is there, and never fails because the loyalty service fails. */
import { outbox } from "./database";
import { type Member, saveMember } from "./members";
import { type FormState, readForm, rejectedField } from "./sign-up-form";

/** The longest that a sign-up waits for the card; after that the card follows. */
const deadlineMs = 4_000;

/** @returns the member, or the form with its errors. */
export async function join(
  form: FormData,
): Promise<{ member: Member } | { state: FormState }> {
  const { values, errors, draft, formId } = readForm(form);
  if (Object.keys(errors).length > 0) return { state: { values, errors } };

  const member = await saveMember(draft, formId, Date.now());
  if (member === undefined)
    return {
      state: {
        values,
        errors: { email: "There is an account with this address already." },
      },
    };
  const { state, error } = await (await outbox()).issue(member.id, { deadlineMs });
  if (state === "rejected" && error !== undefined)
    return {
      state: {
        values,
        errors: { [rejectedField(error.fields)]: error.userMessage },
      },
    };
  return { member };
}
