/** The switch for news and offers: a form with one button, so that it works without scripts too. */
"use client";
import { useActionState } from "react";
import { changeNews } from "./actions";

export function NewsConsent({ wantsNews }: { wantsNews: boolean }) {
  const [fault, action, isPending] = useActionState(changeNews, "");
  return (
    <form action={action} className="panel news" aria-labelledby="news">
      <div>
        <h2 id="news">News and offers</h2>
        <p id="news-state">{wantsNews ? "You hear from us now and then." : "We keep quiet."}</p>
      </div>
      <input type="hidden" name="marketing" value={String(!wantsNews)} />
      <button
        type="submit"
        role="switch"
        aria-checked={wantsNews}
        aria-labelledby="news"
        aria-describedby="news-state"
        aria-disabled={isPending}
        className="switch"
      />
      <p className="fault" aria-live="polite">
        {fault}
      </p>
    </form>
  );
}
