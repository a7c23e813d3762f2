/** A client that sends its requests through a proxy, with undici. */
// #region undici
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { EnvHttpProxyAgent, fetch as undiciFetch } from "undici";

const dispatcher = new EnvHttpProxyAgent(); // HTTP_PROXY, HTTPS_PROXY, NO_PROXY

export const loyalty = createIssuingClient({
  fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }),
});
// #endregion
