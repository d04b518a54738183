import { readFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { onTestFinished } from "vitest";
import { freePort } from "../support/http.ts";
import { startNode } from "../cli/child.ts";
import { prepare } from "../cli/dev/start-dev.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGKILL"] as const;
/** When a run is ended: before, while and after its subscriptions are made. */
const MOMENTS = ["begun", "making", "made"] as const;

/** Runs of `hookline dev` with a tunnel, each ended in another way, and one more at the end. */
export async function endRuns(count: number) {
  const certificate = join(import.meta.dirname, "../cli/dev/cert.pem");
  const known = tls.getCACertificates("default");
  tls.setDefaultCACertificates([...known, readFileSync(certificate, "utf8")]);
  onTestFinished(() => tls.setDefaultCACertificates(known));
  const { emulator, account, app, cwd, env } = await prepare();
  let handshake: (() => void) | undefined;
  app.handshake = () => handshake?.();
  const root = join(import.meta.dirname, "../..");
  const tunnel = `exec "${process.execPath}" "${join(import.meta.dirname, "../cli/dev/tunnel-program.ts")}" {port}`;
  const found = { afterSignal: 0, afterKill: 0, afterNextStart: 0, left: -1 };
  let seen = new Set<number>();
  const ids = (): readonly number[] => emulator.subscriptions.map(({ id }) => id);

  for (let round = 0; round <= count; round += 1) {
    const signal = SIGNALS[round % SIGNALS.length] as NodeJS.Signals;
    const moment = round === count ? "made" : MOMENTS[(round + Math.floor(round / SIGNALS.length)) % MOMENTS.length];
    const port = String(await freePort());
    const of = [
      "--account",
      String(account.accountId),
      "--api",
      emulator.url,
      "--resource",
      "/email/messages",
      "--resource",
      "/contacts",
    ];
    const args = ["dev", "--to", app.url, "--port", port, ...of, "--tunnel", tunnel];
    const child = startNode(
      [join(root, "src/cli/main.ts"), ...args],
      { ...env, NODE_EXTRA_CA_CERTS: certificate },
      "",
      cwd,
    );
    let handshakes = 0;
    const making = new Promise<void>((resolve) => {
      // The first is of the command itself, the second of the service.
      handshake = () => void ((handshakes += 1) === 2 && resolve());
    });
    await child.says("err", /^Passing /m);
    // All that runs before have left.
    found.afterNextStart += ids().filter((id) => seen.has(id)).length;
    if (moment === "making") await making;
    if (moment === "made") await child.says("err", /^Subscribed at /m);
    child.kill(round === count ? "SIGINT" : signal);
    await child.ended;
    if (signal === "SIGKILL" && round < count) found.afterKill += ids().length;
    else found.afterSignal += ids().length;
    seen = new Set([...seen, ...ids()]);
  }
  return { ...found, left: ids().length, runs: count + 1 };
}
