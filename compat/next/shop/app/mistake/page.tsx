"use client";
/** A mistake: a page that imports the client. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { useState } from "react";

export default function Mistake() {
  const [loyalty] = useState(() =>
    createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key" }),
  );
  return <output>{typeof loyalty.issueCard}</output>;
}
