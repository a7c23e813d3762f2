/** The same receiver on the edge runtime. */
export { POST } from "../loyalty/route";

export const runtime = "edge";
