/** The switch for news and offers: a form with one button, so that it also works without scripts. */
"use client";
import { useActionState } from "react";
import { changeNews } from "../actions";

export function NewsConsent({ wantsNews }: { wantsNews: boolean }) {
  const [error, action, isPending] = useActionState(changeNews, "");
  return (
    <form action={action} className="panel news" aria-labelledby="news">
      <div>
        <h2 id="news">News and offers</h2>
        <p id="news-state">
          {wantsNews
            ? "We send you news and offers."
            : "We do not send you news or offers."}
        </p>
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
      <p className="error" aria-live="polite">
        {error}
      </p>
    </form>
  );
}
