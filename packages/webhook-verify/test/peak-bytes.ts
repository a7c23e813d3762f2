/** Streams a body at a server in this process and tells how much it held of it at most, garbage not counted. */
import { request as httpRequest } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const chunk = Buffer.alloc(64 * 1024, " ");
/** A measurement is a whole garbage collection: one for each mebibyte. */
const chunksPerMeasurement = 16;

function held(): number {
  collectGarbage();
  collectGarbage(); // waits for the sweepers of the first one, which free the buffers beside the main thread
  return process.memoryUsage().arrayBuffers;
}

/** Ends when the server hangs up, or when everything is sent. */
export function peakBytes(url: string, headers: Record<string, string>, bytes: number): Promise<number> {
  return new Promise((resolve) => {
    const before = held();
    let peak = 0;
    let sent = 0;
    const request = httpRequest(url, {
      method: "POST",
      headers: { ...headers, "transfer-encoding": "chunked" },
    });
    const done = () => resolve(peak);
    request
      .on("response", (response) => response.resume())
      .on("error", done)
      .on("close", done);
    const write = () => {
      if (request.destroyed) return;
      if (sent >= bytes) return void request.end();
      sent += chunk.length;
      const next = () => {
        if ((sent / chunk.length) % chunksPerMeasurement === 0) peak = Math.max(peak, held() - before);
        write();
      };
      if (request.write(chunk)) setImmediate(next);
      else request.once("drain", next);
    };
    write();
  });
}
