/** The server actions: the sign-up form, and the member's page. */
"use server";
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { revalidatePath } from "next/cache";
import { redirect } from "next/navigation";
import { inTransaction } from "../shop/database";
import { join } from "../shop/join";
import { consentVersions, loyalty } from "../shop/loyalty";
import { getCard } from "../shop/members";
import { beginSession, currentMember, endSession } from "../shop/session";
import type { FormState } from "../shop/sign-up-form";

export async function signUp(
  _before: FormState,
  form: FormData,
): Promise<FormState> {
  const joined = await join(form);
  if ("state" in joined) return joined.state;
  await beginSession(joined.member.id);
  redirect("/member");
}

/** @returns the message to show when it failed. */
export async function changeNews(_before: string, form: FormData): Promise<string> {
  const member = await currentMember();
  const card = member && (await getCard(member.id));
  if (card === undefined)
    return "Please try again after your card has been issued.";
  const marketing = form.get("marketing") === "true";
  try {
    await loyalty().setConsent(
      card.id,
      { marketing, ...(marketing && { version: consentVersions.news }) },
      { deadlineMs: 4_000 },
    );
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    console.error(error);
    return "That did not work. Nothing was changed; please try again later.";
  }
  await inTransaction((query) =>
    query(
      "UPDATE cards SET wants_news = ? WHERE id = ?",
      marketing ? 1 : 0,
      card.id,
    ),
  );
  revalidatePath("/member");
  return "";
}

export async function signOut(): Promise<void> {
  await endSession();
  redirect("/");
}
