/** The server action of the sign-up form. */
"use server";
import { redirect } from "next/navigation";
import { join } from "../shop/join";
import { beginSession } from "../shop/session";
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
