"use client";
/** What must not be done: a page that wants to issue cards by itself. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { useState } from "react";

export default function Mistake() {
  const [loyalty] = useState(() =>
    createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key" }),
  );
  return <output>{typeof loyalty.issueCard}</output>;
}
