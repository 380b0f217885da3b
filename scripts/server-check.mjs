// Asks a language server, as an editor would, what it finds in a file.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const LIMIT_MS = 60_000;

/**
 * Starts a server, opens a file in it, and ends it.
 *
 * @param {string[]} command what starts the server
 * @param {string} path the file to open
 * @returns {Promise<{name: string, version: string, first: string}>} what it says it is, and the code of its first finding
 */
export async function checkServer(command, path) {
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  let complaint = "";
  child.stderr.on("data", (chunk) => {
    complaint = (complaint + chunk).slice(-2_000);
  });
  const over = new Promise((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`The server ended with ${code}.\n${complaint}`)));
    setTimeout(() => reject(new Error(`The server does not answer.\n${complaint}`)), LIMIT_MS).unref();
  });
  over.catch(() => {});
  try {
    return await Promise.race([conversation(child, path), over]);
  } finally {
    child.kill();
  }
}

async function conversation(child, path) {
  const uri = pathToFileURL(path).href;
  const messages = reader(child.stdout);
  const send = (message) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    child.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  };
  const until = async (wanted) => {
    // Not a loop over the messages: leaving one would end them.
    for (;;) {
      const { value, done } = await messages.next();
      if (done) throw new Error("The server said nothing more.");
      if (wanted(value)) return value;
    }
  };
  const capabilities = { textDocument: { publishDiagnostics: {} } };
  send({ id: 1, method: "initialize", params: { processId: process.pid, rootUri: null, capabilities } });
  const { result } = await until((message) => message.id === 1);
  send({ method: "initialized", params: {} });
  const textDocument = { uri, languageId: "python", version: 1, text: readFileSync(path, "utf8") };
  send({ method: "textDocument/didOpen", params: { textDocument } });
  const found = await until(
    ({ method, params }) => method === "textDocument/publishDiagnostics" && params.diagnostics.length > 0,
  );
  send({ id: 2, method: "shutdown" });
  await until((message) => message.id === 2);
  send({ method: "exit" });
  const { name, version } = result.serverInfo;
  return { name, version, first: found.params.diagnostics[0].code };
}

/** The messages that arrive on a stream. */
async function* reader(stream) {
  let buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    buffer = Buffer.concat([buffer, chunk]);
    for (;;) {
      const end = buffer.indexOf("\r\n\r\n");
      if (end < 0) break;
      const length = Number(/content-length: (\d+)/i.exec(buffer.toString("latin1", 0, end))?.[1]);
      if (buffer.length < end + 4 + length) break;
      yield JSON.parse(buffer.toString("utf8", end + 4, end + 4 + length));
      buffer = buffer.subarray(end + 4 + length);
    }
  }
}
