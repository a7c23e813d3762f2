/** What runs in the browser on the member's page: the update after a change, and the switch for news and offers. */
"use client";
import { useRouter } from "next/navigation";
import { useActionState, useEffect } from "react";
import { changeNews } from "../actions";

const checkMs = 2_000;

/** Renders the page again when another state than the shown one is stored. */
export function Live({ state }: { state: string }) {
  const router = useRouter();
  useEffect(() => {
    const timer = setInterval(async () => {
      // The server may be restarting.
      const response = await fetch("/member/state").catch(() => undefined);
      if (response?.ok && (await response.text()) !== state) router.refresh();
    }, checkMs);
    return () => clearInterval(timer);
  }, [router, state]);
  return null;
}

/** A form with one button, so that it also works without scripts. */
export function NewsConsent({ wantsNews }: { wantsNews: boolean }) {
  const [error, action, isPending] = useActionState(changeNews, "");
  return (
    <form action={action} className="panel row news">
      <div>
        <h2 id="news">News and offers</h2>
        <p className="quiet">
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
        aria-disabled={isPending}
        className="switch"
      />
      <p className="error" aria-live="polite">
        {error}
      </p>
    </form>
  );
}
