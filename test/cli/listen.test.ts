import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { listen, toListenError } from "../../src/cli/serve/listen.ts";

const noIpv6 = !Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));

test.skipIf(noIpv6)("an IPv6 address stands in brackets in the URL", async () => {
  const server = await listen(() => {}, { host: "::1", port: 0 });
  await server.close();
  expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});

test.each([
  ["EACCES", "Port 80 is not allowed to this user. Take one from 1024 on with --port."],
  ["EAFNOSUPPORT", "Cannot listen on port 80 of ::1: listen EAFNOSUPPORT."],
])("%s is told with what to do", (code, message) => {
  const cause = Object.assign(new Error(`listen ${code}`), { code });
  expect(toListenError(cause, { host: "::1", port: 80 })).toMatchObject({ exitCode: 1, message, cause });
});
