/** The standalone server as users start it, a receiver for its webhooks, and a website that calls it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../packages/mock-server/dist/bin.js", import.meta.url));

export async function openShop(test, ...args) {
  const child = spawn(process.execPath, [bin, "--port", "0", "--json", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  test.after(async () => {
    child.kill("SIGTERM");
    await once(child, "close");
  });
  const [line] = await once(child.stdout, "data");
  const { baseUrl, apiKeys, templateId } = JSON.parse(line);

  async function call(method, path, body, key) {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  return {
    baseUrl,
    apiKeys,
    templateId,
    control: (method, path, body) => call(method, `/_mock/${path}`, body),
    issue: (customer = {}, fieldValues = {}, template = templateId) =>
      call(
        "POST",
        `/api/v1/templates/${template}/passes`,
        { fieldValues, customer: { consents: { privacy: { version: "1" } }, ...customer } },
        apiKeys.website,
      ),
  };
}

/** Answers 204, or what `answer` gives for the event's type. */
export async function openReceiver(test, answer = () => 204) {
  const server = createServer(async (request, response) => {
    request.resume();
    response.statusCode = await answer(request.headers["service-event"]);
    response.end();
  }).listen(0, "127.0.0.1");
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}/webhooks`;
}
