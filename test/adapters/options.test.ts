import type { MountOptions, Receiver } from "hookline";
import { lambdaReceiver } from "hookline/aws-lambda";
import { azureReceiver } from "hookline/azure";
import { expressReceiver } from "hookline/express";
import { fastifyReceiver } from "hookline/fastify";
import { fetchReceiver } from "hookline/fetch";
import { gcpReceiver } from "hookline/gcp";
import { honoReceiver } from "hookline/hono";
import { koaReceiver } from "hookline/koa";
import { HooklineModule } from "hookline/nest";
import { nextPagesReceiver, nextReceiver } from "hookline/next";
import { nodeReceiver } from "hookline/node";
import { workersReceiver } from "hookline/workers";
import { describe, expect, test } from "vitest";
import { receiving } from "./harness.ts";

type Mount = (receiver: Receiver<"network">, options: MountOptions) => unknown;

const nest: Mount = (_receiver, options) =>
  HooklineModule.forRootAsync({
    useFactory: () => Promise.reject(new Error("not made here")),
    mount: { ...options, path: options.path ?? "/" },
  });

/** Each mount, and what it takes beside `path` and `source`. */
const mounts: readonly (readonly [name: string, mount: Mount, more: string])[] = [
  ["node", nodeReceiver, ""],
  ["express", expressReceiver, ""],
  ["koa", koaReceiver, ""],
  ["fastify", fastifyReceiver, ""],
  ["nest", nest, ""],
  ["fetch", fetchReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs, runtime, waitUntil"],
  ["next", nextReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs, runtime, waitUntil"],
  ["next, pages", nextPagesReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs, runtime"],
  ["hono", honoReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs, runtime"],
  ["workers", workersReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs"],
  ["azure", azureReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs"],
  ["gcp", gcpReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs"],
  ["aws-lambda", lambdaReceiver, ", answer, timeoutMs, seen, leaseMs, keepMs"],
];

const PATTERNS = [
  "/hooks/:tenant",
  "/hooks/*",
  "/hooks/*rest",
  "/hooks/{tenant}",
  "/hooks/{proxy+}",
  "/hooks/[tenant]",
  "/hooks/(a|b)",
  "/hooks^",
  "/hooks/é",
  "/my hooks",
];

describe.each(mounts)("%s: an invalid option is refused at once:", (name, mount, more) => {
  const mounting = (options: object) => () => mount(receiving().receiver, options);

  test("a name that is none, with the one that is meant and all there are", () => {
    expect(mounting({ paths: "/hooks" })).toThrow(
      expect.objectContaining({
        code: "option-invalid",
        message: expect.stringContaining('"paths"'),
        fix: `Did you mean "path"? Allowed are: path, source${more}.`,
      }),
    );
  });

  test.each([
    ["a list", ["crm"]],
    ["5", 5],
    ["a promise", Promise.resolve("crm")],
  ])("a source that is %s", (got, source) => {
    expect(mounting({ source })).toThrow(
      expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(`${got} for \`source\``) }),
    );
  });

  test.each([/hooks/, 5, ["/hooks"], "hooks", "/a?b"])("a path that is none: %s", (path) => {
    expect(mounting({ path })).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });

  // Fastify's router knows them.
  test.each(name === "fastify" ? [] : PATTERNS)("a pattern, and characters that no URL has: %s", (path) => {
    expect(mounting({ path })).toThrow(
      expect.objectContaining({ code: "option-invalid", fix: expect.stringMatching(/no pattern.*router.*encodeURI/) }),
    );
  });

  // Nest asks for it later.
  test.each(name === "nest" ? [] : [undefined, {}, () => {}])("what is no receiver, such as %s", (receiver) => {
    expect(() => mount(receiver as never, {})).toThrow(expect.objectContaining({ code: "receiver-invalid" }));
  });

  test("and what can be one is taken", () => {
    for (const path of ["/", "/hooks/a-b_c.d~e", "/caf%C3%A9", "/a+b", "/v1/hooks;x=1,2@!$&'"])
      expect(mounting({ path, source: undefined })).not.toThrow();
    expect(mounting({ path: undefined, source: () => "crm" })).not.toThrow();
  });
});
