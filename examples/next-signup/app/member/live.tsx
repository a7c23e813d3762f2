/** Keeps the page as new as the shop: whenever the stream says so, the server renders it again. */
"use client";
import { useRouter } from "next/navigation";
import { useEffect } from "react";

/** @param stamp of what the page shows, so that nothing is missed between its rendering and the stream. */
export function Live({ stamp }: { stamp: string }) {
  const router = useRouter();
  useEffect(() => {
    const changes = new EventSource(`/member/changes?shown=${stamp}`);
    changes.onmessage = () => router.refresh();
    return () => changes.close();
  }, [router, stamp]);
  return null;
}
