import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { ownBlocksOf } from "./page-commands.ts";
import { root } from "./pages.ts";
import { openSandboxes, testWith } from "./sandbox.ts";

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

const curl = testWith("curl");
curl.test(`docs/emulator.md: a handler sees an event of a mailbox, with two commands${curl.why}`, async () => {
  const [appPort, port] = [String(await freePort()), String(await freePort())];
  const here = (line: string): string => line.replaceAll(":3000", `:${appPort}`).replaceAll(":8788", `:${port}`);
  const [[serve = "", emulator = ""] = [], requests = [], [load = ""] = []] = ownBlocksOf("docs/emulator.md", 3).map(
    (block) => block.map(here),
  );
  const sandbox = sandboxes.open();
  await sandbox.run([`${serve} --port ${appPort} >handled 2>log &`, `${emulator} --port ${port} >attempts &`]);
  const handled = async (count: number): Promise<void> =>
    eventually(async () => {
      const [lines = ""] = await sandbox.run(["cat handled"]);
      expect(lines.match(/"name":"email\.created"/g)).toHaveLength(count);
    });
  await handled(1);

  const [account, subscription, mail, fault, journal = ""] = await sandbox.run(requests);
  expect(account).toMatch(/"accountId":2002,"token":"token_/);
  expect(subscription).toBe('{"id":1006}');
  expect(mail).toMatch(/"id":"m-/);
  expect(fault).toBe("{}");
  expect(JSON.parse(journal)).toMatchObject({ attempts: [{ subscription: 1001, status: 200 }, {}] });
  await handled(2);

  const [report] = await sandbox.run([load.replace("--seconds 5", "--seconds 1")]);
  expect(report).toMatch(/^accepted {2}\d+ per second$/m);
  await sandbox.run(["kill %1 %2", "wait || true"]);
});

test("docs/recipes/local-development.md: deliveries come from the emulator, through a tunnel, and again", async () => {
  const blocks = ownBlocksOf("docs/recipes/local-development.md", 4);
  const [[first = ""] = [], [env = "", real = ""] = [], [hold = ""] = [], again = []] = blocks;
  const certificate = join(root, "test/cli/dev/cert.pem");
  const sandbox = sandboxes.open({ NODE_EXTRA_CA_CERTS: certificate });
  const [app, other, port] = [String(await freePort()), String(await freePort()), String(await freePort())];
  const here = (line: string, appPort = app): string =>
    line.replace(":3000", `:${appPort}`).replace("hookline dev", `hookline dev --port ${port}`);
  const says = (file: string, pattern: RegExp) =>
    eventually(async () => expect((await sandbox.run([`cat ${file}`]))[0]).toMatch(pattern));

  await sandbox.run([`${here(first)} --port ${app} >lines 2>notes &`]);
  await says("lines", / 200 .* email\.created$/m);
  await says("notes", /"name":"email\.created"/);
  await sandbox.run(["kill %1", "wait || true"]);

  // What the page names cloudflared is the tunnel of the tests.
  const known = tls.getCACertificates("default");
  tls.setDefaultCACertificates([...known, readFileSync(certificate, "utf8")]);
  const emulator = await createEmulator();
  try {
    const account = await emulator.account();
    mkdirSync(sandbox.path("/bin"));
    const program = `exec "${process.execPath}" "${root}/test/cli/dev/tunnel-program.ts" "\${3##*:}"`;
    writeFileSync(sandbox.path("/bin/cloudflared"), `#!/bin/sh\n${program}\n`);
    chmodSync(sandbox.path("/bin/cloudflared"), 0o755);
    const exported = env
      .replace("TOKEN=...", `TOKEN=${account.token}`)
      .replace("SECRET=...", `SECRET=${emulator.secret}`);
    const run = here(real, other).replace("--account 2002", `--account ${account.accountId} --api ${emulator.url}`);
    await sandbox.run([
      `export PATH="${sandbox.path("/bin")}:$PATH"`,
      exported,
      `npx hookline serve --port ${other} >handled 2>log &`,
      `${run} >lines 2>notes &`,
    ]);
    await says("notes", /^Subscribed at https:/m);
    await account.receiveMail();
    await says("handled", /"name":"email\.created"/);
    await sandbox.run(["kill $!", "wait $! || true"]);
    expect(emulator.subscriptions).toEqual([]);
  } finally {
    await emulator.close();
    tls.setDefaultCACertificates(known);
  }

  await sandbox.run([`${here(hold, other)} >lines 2>notes &`]);
  await says("lines", / 200 .* email\.created$/m);
  await sandbox.run(["kill $!", "wait $! || true"]);
  const sent = await sandbox.run(again.map((line) => here(line, other)));
  expect(sent).toEqual([
    expect.stringMatching(/^200 +1 {2}acknowledged$/m),
    expect.stringMatching(/^200 +1 {2}acknowledged$/m),
  ]);
  await sandbox.run(["kill %1 || true", "wait || true"]);
});

test("docs/start/first-subscription.md: the first command needs nothing but an app", async () => {
  const [[line = ""] = []] = ownBlocksOf("docs/start/first-subscription.md", 1);
  const sandbox = sandboxes.open();
  const [app, port] = [await freePort(), await freePort()];
  const program = `import { createServer } from "node:http";
    createServer((req, res) => {
      const token = new URL(req.url, "http://localhost").searchParams.get("validationToken");
      res.writeHead(200, { "Content-Type": "text/plain" }).end(token ?? "");
    }).listen(${app}, "127.0.0.1");`;
  writeFileSync(sandbox.path("/var/lib/webhooks/app.ts"), program);
  const here = line.replace(":3000", `:${app}`).replace("hookline dev", `hookline dev --port ${port}`);
  await sandbox.run([`${here.replace("-- node", `-- "${process.execPath}"`)} >lines 2>notes &`]);
  await eventually(async () => expect((await sandbox.run(["cat lines"]))[0]).toMatch(/ 200 .* email\.created$/m));
  await sandbox.run(["kill $!", "wait $!"]);
});
