/** A form whose server action issues a card; it works without JavaScript in the page. */
import { redirect } from "next/navigation";
import { join } from "../../members";

async function joinFromForm(form: FormData): Promise<void> {
  "use server";
  const cardId = await join(String(form.get("user")), "Berta");
  redirect(`/joined?card=${cardId}`);
}

export default function Join() {
  return (
    <form action={joinFromForm}>
      <input name="user" />
      <button type="submit">Join</button>
    </form>
  );
}
