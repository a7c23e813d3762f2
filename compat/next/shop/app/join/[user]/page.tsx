/** A server component that issues a card while the page is rendered. */
import { join } from "../../../members";

export default async function Joined({ params }: { params: Promise<{ user: string }> }) {
  const { user } = await params;
  return <output>{await join(user, "Anna")}</output>;
}
