/** Keeps the page as new as the shop: whenever the stream says so, the server renders it again. */
"use client";
import { useRouter } from "next/navigation";
import { useEffect } from "react";

export function Live() {
  const router = useRouter();
  useEffect(() => {
    const changes = new EventSource("/member/changes");
    changes.onmessage = () => router.refresh();
    changes.onopen = () => router.refresh(); // what happened while nobody listened
    return () => changes.close();
  }, [router]);
  return null;
}
