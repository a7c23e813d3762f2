/** A client that sends its requests with undici. */
// #region undici
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { fetch as undiciFetch } from "undici";

export const loyalty = createIssuingClient({ fetch: undiciFetch });
// #endregion
