/** Streams a body to a server in this process, and measures the maximum number of its bytes that the server held, without garbage. */
import { request as httpRequest } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const chunk = Buffer.alloc(64 * 1024, " ");
/** One measurement per mebibyte, because each needs a full garbage collection. */
const chunksPerMeasurement = 16;

function held(): number {
  collectGarbage();
  collectGarbage(); // waits for the first collection, which frees the buffers on other threads
  return process.memoryUsage().arrayBuffers;
}

/** Ends when the server closes the connection, or when everything is sent. */
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
