/** Renders the page again on every notification of the event stream. */
"use client";
import { useRouter } from "next/navigation";
import { useEffect } from "react";

/** @param stamp identifies what the page shows, so that no change between its rendering and the stream is missed. */
export function Live({ stamp }: { stamp: string }) {
  const router = useRouter();
  useEffect(() => {
    const changes = new EventSource(`/member/changes?shown=${stamp}`);
    changes.onmessage = () => router.refresh();
    return () => changes.close();
  }, [router, stamp]);
  return null;
}
