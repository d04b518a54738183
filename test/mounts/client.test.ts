import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../emulator/support.ts";
import { binaryOf } from "./binaries.ts";
import { bundle, FOR_WORKERS } from "./bundle.ts";
import type { ClientWorld } from "./client-program.ts";
import { startProgram } from "./program.ts";
import { startWorkerd } from "./workerd.ts";

/** What every runtime must come to. */
const RESULT = {
  subjects: ["Third", "Second", "First"],
  primaries: 20,
  isNotFound: true,
  aborted: "stopped",
  sameClient: true,
  name: "Ada",
  isToBeAuthorised: true,
  refused: "state-invalid",
  unknownCode: "service-bad-request",
};

async function openWorld(): Promise<ClientWorld> {
  const { url, syncConfigUrl, appId, appSecret, account } = await startEmulator({ pageSize: 2 });
  const { token } = await account({ mail: ["First", "Second", "Third"].map((subject) => ({ subject })) });
  return { url, syncConfigUrl, appId, appSecret, token };
}

const PROCESS = "test/mounts/client-process.ts";
const CONDITION = "--conditions=hookline-source";

test.each([
  ["Node", process.execPath, [CONDITION, PROCESS]],
  ["Deno", () => binaryOf("deno"), ["run", "--allow-all", "--no-prompt", CONDITION, PROCESS]],
  ["Bun", () => binaryOf("bun"), [CONDITION, PROCESS]],
] as const)("hookline/client on %s", async (_name, command, args) => {
  const program = startProgram(typeof command === "string" ? command : command(), [
    ...args,
    JSON.stringify(await openWorld()),
  ]);
  onTestFinished(() => program.end());
  expect(JSON.parse(await program.says(/result (.*)/))).toEqual(RESULT);
});

test("hookline/client on workerd, without a compatibility flag", async () => {
  const { code } = await bundle({
    ...FOR_WORKERS,
    external: [],
    entryPoints: [join(import.meta.dirname, "client-worker.ts")],
  });
  const workers = startWorkerd({ main: { code, bindings: { WORLD: await openWorld() } } }, { http: '"main"' });
  onTestFinished(() => workers.end());
  // Two at once: what one request started must not hold up the other.
  const url = await workers.urlOf("http");
  const answers = await Promise.all([fetch(url), fetch(url)]);
  for (const answer of answers) expect(await answer.json()).toEqual(RESULT);
});
