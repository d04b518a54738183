import { afterAll, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { ownBlocksOf } from "./page-commands.ts";
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
