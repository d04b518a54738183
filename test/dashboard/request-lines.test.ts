import { once } from "node:events";
import { connect } from "node:net";
import { nodeDashboard } from "hookline/dashboard";
import { expect, test } from "vitest";
import { served } from "./servers.ts";
import { troubled } from "./support.ts";

test.each(["http://[", "http://", "http://a:999999/", "http://%/", "/\\\\["])(
  "the request line of %s is answered 404, and ends no process",
  async (target) => {
    const receiver = await troubled();
    const url = await served(nodeDashboard(receiver, { path: "/ui", access: () => undefined }));
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.end(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 404 /);
  },
);
